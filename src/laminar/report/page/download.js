/* Save a table. A cell that a spreadsheet would run as a formula gets a quote, unless it is a number. */
function csvCell(value) {
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text) && !Number.isFinite(+text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function downloadCsv(name, rows) {
  const text = rows.map((row) => row.map(csvCell).join(",")).join("\n");
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 5000);
}
