% SPDX-License-Identifier: MIT
% Octave: subspace iteration, the largest eigenvalues of a symmetric matrix of 4096 rows.
arguments = argv();
scale = 1;
file = "";
for i = 1:numel(arguments) - 1
    switch arguments{i}
        case "--scale"
            scale = str2double(arguments{i + 1});
        case "--answer"
            file = arguments{i + 1};
    end
end
n = max(64, round(4096 * min(1, scale)));
% Any fixed numbers do; their generator may differ between versions, the run beside it does not.
rand("twister", 1);
matrix = single(rand(n)) - single(0.5);
matrix = matrix + matrix';
strong = 1:16;
at = sub2ind([n n], strong, strong);
matrix(at) += single(n ./ strong);
basis = single(rand(n, 64)) - single(0.5);

begin = tic();
for step = 1:max(2, round(48 * scale))
    [basis, ~] = qr(matrix * basis, 0);
end
values = sort(eig(basis' * (matrix * basis)), "descend");
printf("work_s %.6f\n", toc(begin));

if (! isempty(file))
    out = fopen(file, "w");
    fprintf(out, "eigenvalues 1e-4%s\n", sprintf(" %.9g", real(values(1:8))));
    fclose(out);
end
