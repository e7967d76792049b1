for (const box of document.querySelectorAll(".search input")) {
  const rows = [...document.querySelectorAll(`#${box.dataset.rows} tr.found`)];
  const count = box.closest(".search").querySelector("output");
  box.closest(".search").hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    count.textContent = wanted && `${rows.filter(row => !row.hidden).length} of ${rows.length}`;
  });
}
