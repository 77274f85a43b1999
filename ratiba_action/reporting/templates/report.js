"use strict";
(() => {
  const controls = document.getElementById("controls");
  const search = document.getElementById("search");
  const outcome = document.getElementById("outcome");
  const count = document.getElementById("count");
  const scenarios = Array.from(document.querySelectorAll("details[data-outcome]"));
  const texts = scenarios.map((scenario) => scenario.textContent.toLowerCase());
  const show = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    scenarios.forEach((scenario, place) => {
      const fits = (outcome.value === "all" || scenario.dataset.outcome === outcome.value) &&
        wanted.every((word) => texts[place].includes(word));
      scenario.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.textContent = `${shown} of ${scenarios.length} shown`;
  };
  controls.hidden = scenarios.length < 2;
  search.addEventListener("input", show);
  outcome.addEventListener("change", show);
  show();
})();
