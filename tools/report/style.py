# SPDX-License-Identifier: MIT
"""The style of the page: a table of colours, whose contrast a test checks, and the rest as text."""

# name: (light, dark). Text, places and lines must be visible on both backgrounds.
COLOURS = {
    "back": ("#ffffff", "#14171c"),
    "panel": ("#f2f4f8", "#20252d"),
    "text": ("#1b1e24", "#e9ebef"),
    "muted": ("#545a66", "#adb4c0"),
    "line": ("#c3c8d2", "#434b58"),
    "gpu": ("#0b5fb0", "#6fb3ff"),
    "cpu": ("#a04e00", "#f5a64b"),
    "both": ("#7636a6", "#cf9bff"),
    "on-mark": ("#ffffff", "#14171c"),
    "link": ("#0b5fb0", "#8cc2ff"),
}


def variables(which):
    return "".join(f"--{name}:{colours[which]};" for name, colours in COLOURS.items())


RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1rem;max-width:62rem;background:var(--back);color:var(--text);
font:1rem/1.5 system-ui,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:.25rem 0 .75rem}
h2{font-size:1.2rem;line-height:1.3;margin:2.25rem 0 .5rem;padding-top:.75rem;
border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0 0 .15rem}
p{margin:.4rem 0;max-width:46rem}
a{color:var(--link)}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.92em}
.what{color:var(--muted);margin:0}
.word{display:inline-block;max-width:100%}
.note{color:var(--muted);font-size:.9rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;
margin:1rem 0;padding:0}
.figures div{background:var(--panel);border-radius:.4rem;padding:.55rem .7rem}
.figures dt{color:var(--muted);font-size:.85rem}
.figures dd{margin:0;font-size:1.3rem;font-weight:600;line-height:1.35}
.figures dd small{display:block;font-size:.8rem;font-weight:400;color:var(--muted)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;list-style:none;margin:.5rem 0;padding:0}
.legend svg{width:1.5rem;height:.8rem;margin-right:.4rem;vertical-align:-1px}
.hints{list-style:none;margin:.5rem 0;padding:0}
.hints li{border-left:.3rem solid var(--line);padding:.1rem 0 .1rem .8rem;margin:0 0 .9rem}
.hints p{margin:.1rem 0}
.scroll{overflow-x:auto;max-width:100%;background:
linear-gradient(to right,var(--back) 40%,transparent) 0 0/3rem 100% no-repeat local,
linear-gradient(to left,var(--back) 40%,transparent) 100% 0/3rem 100% no-repeat local,
linear-gradient(to right,var(--line),transparent) 0 0/.8rem 100% no-repeat scroll,
linear-gradient(to left,var(--line),transparent) 100% 0/.8rem 100% no-repeat scroll}
.scroll:focus-visible{outline:2px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--muted);padding:.2rem 0}
th,td{text-align:right;padding:.28rem .5rem;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:normal}
th{font-weight:600}
thead th{vertical-align:bottom;white-space:nowrap}
td.num,.nowrap{white-space:nowrap}
th:first-child,td:first-child{padding-left:0}
.dense{font-size:.86rem}
.dense th,.dense td{padding:.25rem .35rem}
.small-table{width:auto}
.small-table td{overflow-wrap:anywhere}
.later{margin-top:1.5rem}
.left{text-align:left}
th.why{overflow-wrap:anywhere}
.why{min-width:11rem}
.bar-cell{min-width:8rem;width:26%}
figure{margin:.5rem 0}
svg{display:block;max-width:100%}
.legend svg,.patterns{display:inline-block}
.patterns{position:absolute}
.plot{padding-left:2.4rem;overflow:hidden}
.plot.wide{padding-left:2.9rem}
.plot>svg{overflow:visible}
svg text{fill:var(--text);font-size:12px;font-family:inherit}
svg .small{fill:var(--muted);font-size:11px}
svg .number{fill:var(--on-mark);font-size:11px;font-weight:700;pointer-events:none}
svg .halo,svg .lane-label{paint-order:stroke;stroke:var(--back);stroke-width:4px;
stroke-linejoin:round}
svg .halo{font-size:11px}
.lane{fill:var(--panel)}
.grid{stroke:var(--line);stroke-width:1}
.gpu{fill:var(--gpu)}.cpu{fill:var(--cpu)}.both{fill:var(--both)}
.under{fill:var(--back)}
.gpu-fill{fill:var(--gpu)}
.cpu-fill{fill:url(#hatch);stroke:var(--cpu)}
.both-fill{fill:url(#dots);stroke:var(--both)}
.bar{overflow:visible}
.mark{stroke:var(--back);stroke-width:1.5}
.minor.cpu{fill:var(--back);stroke:var(--cpu)}
.roof{stroke:var(--text);stroke-width:2}
.fp32-roof{stroke-dasharray:2 4}
.cpu-roof{stroke-dasharray:6 4;stroke:var(--cpu)}
@media (max-width:34rem){
body{padding:.8rem}
h1{font-size:1.35rem}
.figures{grid-template-columns:repeat(2,1fr)}
.figures dd{font-size:1.1rem}
.figures div:last-child:nth-child(odd){grid-column:1/-1}
.bar-cell{display:none}
.why{min-width:6.5rem}
th,td{padding:.28rem .3rem}
}
@media print{
@page{margin:14mm}
body{max-width:none;padding:0;font-size:10pt}
h2,h3,caption{break-after:avoid}
figure{break-before:avoid}
figure,tr,.hints li,.figures div{break-inside:avoid}
.figures{grid-template-columns:repeat(5,1fr);gap:.3rem}
.figures div{border:1px solid var(--line)}
.figures dd{font-size:1.1rem}
.scroll{overflow:visible;background:none}
table{font-size:8pt}
.dense{font-size:7.5pt}
.note{font-size:8.5pt}
th,td{padding:.15rem .3rem}
}
"""


def sheet():
    return (f":root{{color-scheme:light dark;{variables(0)}}}\n"
            f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(1)}}}}}\n{RULES}")
