"""Self-contained HTML pages: light and dark, for screens, phones and paper."""

import base64
import html
from collections.abc import Sequence

from farstep.plotting.charts import Table

_STYLE = """
:root { color-scheme: light dark; --text: #1c1c1c; --back: #fff; --faint: #555; --rule: #ddd; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e4e4; --back: #16181b; --faint: #a5a5a5; --rule: #3a3d42; }
  .js-plotly-plot text { fill: #d8d8d8 !important; }
  .js-plotly-plot :is(.gridlayer, .zerolinelayer) path { stroke: #3a3d42 !important; }
  .js-plotly-plot path[style*="stroke: rgb(0, 0, 0)"] { stroke: #f0f0f0 !important; }
  .js-plotly-plot .hoverlayer rect, .js-plotly-plot .hoverlayer path { fill: #23262a !important; }
  img { background: #fff; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--text); background: var(--back); overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px;
        display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--rule);
         white-space: nowrap; }
th { cursor: pointer; }
th:first-child, td:first-child { text-align: left; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; }
nav a { margin-right: 1rem; }
code { font-size: 13px; }
.note { color: var(--faint); font-size: 13px; }
img { max-width: 100%; }
.scroll { overflow-x: auto; }
@media print {
  body { max-width: none; margin: 0; font-size: 11px; }
  table { display: table; font-size: 9px; } th, td { white-space: normal; padding: .1rem .3rem; }
  .js-plotly-plot, img, table { break-inside: avoid; } nav { display: none; }
  .scroll, table { overflow: visible; }
}
"""
_SORT = """
document.addEventListener("click", event => {
  const head = event.target.closest("th");
  if (!head) return;
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const down = head.dataset.sorted === "up";
  const key = row => {
    const text = row.cells[column].textContent.replace("\u2212", "-");
    const number = parseFloat(text);
    return Number.isNaN(number) ? text : number;
  };
  const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0)
                                                : typeof a === "number" ? -1 : 1;
  const rows = [...body.rows].sort((a, b) => order(key(a), key(b)));
  for (const other of head.parentNode.cells) delete other.dataset.sorted;
  head.dataset.sorted = down ? "down" : "up";
  body.append(...(down ? rows.reverse() : rows));
});
"""
_PRINT = """
const paper = 680;  // pixels between the margins of A4
const onPaper = printing => {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    plot.dataset.screen ??= plot.layout.width ?? "";
    const screen = plot.dataset.screen === "" ? null : Number(plot.dataset.screen);
    Plotly.relayout(plot, {width: printing ? paper : screen, autosize: !printing && !screen});
  }
};
matchMedia("print").addEventListener("change", event => onPaper(event.matches));
"""


def page(title: str, parts: Sequence[str]) -> str:
    """Return a full HTML page; it includes Plotly's program, so that it opens offline."""
    from plotly.offline import get_plotlyjs

    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<script>{get_plotlyjs()}</script><script>{_SORT}{_PRINT}</script></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n{chr(10).join(parts)}\n</body></html>\n"
    )


def image_html(data: bytes, kind: str, alt: str) -> str:
    """Return a PNG or GIF as a part of a page, with an alternative text."""
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return f'<img alt="{html.escape(alt)}" src="{source}">'


def table_html(table: Table) -> str:
    """Return a table as a part of a page; a click on a column's head sorts its rows."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
