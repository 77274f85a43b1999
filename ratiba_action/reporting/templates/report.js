"use strict";
(() => {
  const PAGE = 100;
  const element = (id) => document.getElementById(id);
  const [search, outcome, count, more, next, all] = ["search", "outcome", "count", "more", "next", "all"].map(element);
  const scenarios = Array.from(document.querySelectorAll("details[data-outcome]"));
  const number = (value) => value.toLocaleString("en");
  const passing = element("passing");
  const theme = element("theme");
  const chosen = document.documentElement.dataset;
  // A browser may keep nothing for a file, or for anybody: then the choice ends with the page.
  const kept = (use) => {
    try {
      return use(localStorage);
    } catch {
      return null;
    }
  };
  const isDark = () => chosen.theme === "dark" || (chosen.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const wear = (name) => {
    if (name === "dark" || name === "light") {
      chosen.theme = name;
    }
    theme.textContent = isDark() ? "Light mode" : "Dark mode";
  };
  let texts = null;
  let limit = PAGE;
  let linked = null;
  const show = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length > 0 && texts === null) {
      texts = scenarios.map((scenario) => scenario.textContent.toLowerCase());
    }
    let fitting = 0;
    let shown = 0;
    let paged = 0;
    scenarios.forEach((scenario, place) => {
      const fits = (outcome.value === "all" || scenario.dataset.outcome === outcome.value) &&
        wanted.every((word) => texts[place].includes(word));
      // Scenarios in quarantine stand below a heading of their own and are few.
      const onPage = fits && (scenario.dataset.outcome === "quarantined" || paged < limit);
      paged += fits && scenario.dataset.outcome !== "quarantined" ? 1 : 0;
      scenario.hidden = !onPage && scenario !== linked;
      fitting += fits ? 1 : 0;
      shown += onPage ? 1 : 0;
    });
    const total = number(scenarios.length);
    const filtered = wanted.length > 0 || outcome.value !== "all";
    if (passing !== null) {
      passing.open = passing.open || filtered || limit > PAGE;
      passing.hidden = filtered && !Array.from(passing.querySelectorAll("details[data-outcome]")).some((row) => !row.hidden);
    }
    count.textContent = !filtered ? `${number(shown)} of ${total} shown` :
      `${number(fitting)} of ${total} found${shown < fitting ? `, ${number(shown)} shown` : ""}`;
    more.hidden = paged <= limit;
    next.textContent = `Show ${number(Math.min(PAGE, paged - limit))} more`;
    all.textContent = `Show all ${number(paged)}`;
  };
  const showUpTo = (wanted) => {
    limit = wanted;
    show();
  };
  // A link to a scenario leads to it, whatever is filtered and paged.
  const follow = () => {
    const target = element(location.hash.slice(1));
    if (scenarios.includes(target)) {
      linked = target;
      target.open = true;
      show();
      if (passing !== null && passing.contains(target)) {
        passing.open = true;
      }
      target.scrollIntoView();
    } else if (location.hash.startsWith("#filter?")) {
      const wanted = new URLSearchParams(location.hash.slice("#filter?".length));
      search.value = wanted.get("search") ?? "";
      const kind = wanted.get("outcome") ?? "all";
      outcome.value = Array.from(outcome.options).some((option) => option.value === kind) ? kind : "all";
      showUpTo(PAGE);
    }
  };
  // The address has the filters, so that it can be sent to somebody; going back does not undo each letter.
  const filter = () => {
    const chosenFilters = new URLSearchParams();
    if (outcome.value !== "all") {
      chosenFilters.set("outcome", outcome.value);
    }
    if (search.value !== "") {
      chosenFilters.set("search", search.value);
    }
    const address = chosenFilters.toString();
    history.replaceState(null, "", address === "" ? "#scenarios" : `#filter?${address}`);
    showUpTo(PAGE);
  };
  wear(kept((storage) => storage.getItem("ratiba-theme")));
  theme.hidden = false;
  theme.addEventListener("click", () => {
    wear(isDark() ? "light" : "dark");
    kept((storage) => storage.setItem("ratiba-theme", chosen.theme));
  });
  element("controls").hidden = scenarios.length < 2;
  search.addEventListener("input", filter);
  outcome.addEventListener("change", filter);
  next.addEventListener("click", () => showUpTo(limit + PAGE));
  all.addEventListener("click", () => showUpTo(Infinity));
  window.addEventListener("hashchange", follow);
  show();
  follow();
})();
