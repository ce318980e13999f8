% SPDX-License-Identifier: MIT
% Times whole calls of Octave on one random matrix of the order that is given; linalg.py runs it, and has the
% rules. eig has half the order and svd a quarter, because the routines that Octave calls take minutes on the CPU.
n = str2double (argv (){1});
randn ("state", 1);
a = randn (n);
half = a(1:n/2, 1:n/2);
quarter = a(1:n/4, 1:n/4);
symmetric = half + half';
definite = a * a' + n * eye (n);
[u, s, v] = svd (a(1:1024, 1:1024));
first = inv (a(1:1024, 1:1024));

function best (name, count, call)
  ms = Inf;
  for i = 1:count
    begin = time ();
    call ();
    ms = min (ms, 1e3 * (time () - begin));
  end
  printf ("%.1f Octave %s\n", ms, name);
end

function vectors (x)
  [v, d] = eig (x);
end

function both_sides (x)
  [u, s, v] = svd (x);
end

best ("eig, symmetric, n / 2", 1, @() vectors (symmetric));
best ("svd, n / 4", 1, @() both_sides (quarter));
best ("\\, 32 columns", 2, @() a \ a(:, 1:32));
best ("inv", 2, @() inv (a));
best ("chol", 2, @() chol (definite));
best ("a * b", 2, @() a * definite);
best ("a' * a", 2, @() a' * a);
