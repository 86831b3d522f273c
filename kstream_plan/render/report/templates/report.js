"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_LANES = 40;
  const WORDS = {
    "runs": "runs on", "restores": "restores, before it runs, on", "warms-up": "warms up on",
    "standby": "has a standby on", "temporary": "has a temporary standby on",
  };

  const make = (name, given = {}, ...inside) => {
    const of = document.createElement(name);
    for (const [key, value] of Object.entries(given)) of.setAttribute(key, value);
    of.append(...inside);
    return of;
  };
  const draw = (name, given, text) => {
    const of = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(given)) of.setAttribute(key, value);
    if (text !== undefined) of.textContent = text;
    return of;
  };
  // As duration() in Python: two units at most.
  const units = (number, ratio, larger, smaller) => {
    const rest = number % ratio;
    return `${Math.floor(number / ratio).toLocaleString("en")}${larger}${rest ? `${String(rest).padStart(2, "0")}${smaller}` : ""}`;
  };
  const duration = ms => {
    if (ms > 0 && ms < 100) return `${ms}ms`;
    if (ms < 59950) return `${Number((ms / 1000).toFixed(1))}s`;
    if (ms < 36e5 - 500) return units(Math.round(ms / 1000), 60, "m", "s");
    if (ms < 2 * 864e5) return units(Math.round(ms / 6e4), 60, "h", "m");
    return units(Math.round(ms / 36e5), 24, "d", "h");
  };
  const inParts = (flat, size) => {
    const parts = [];
    for (let at = 0; at < flat.length; at += size) parts.push(flat.slice(at, at + size));
    return parts;
  };

  const ages = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const minutes = Math.round((Date.now() - Date.parse(time.dateTime)) / 60000);
      if (!(minutes >= 0)) continue;
      const said = minutes < 120 ? `${minutes} min` : minutes < 2880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
      time.textContent = `(${said} old when this page was opened)`;
    }
  };

  const choice = (label, values) => {
    const select = make("select", {}, make("option", { value: "" }, "all"));
    for (const [value, text] of values) select.append(make("option", { value }, text));
    return [make("label", {}, label, select), select];
  };

  const tell = (article, data, byTask, stillOf, task) => {
    article.querySelector(".story")?.remove();
    const [name, group] = data.tasks[task];
    const said = [];
    for (const [what, instance, from, to] of byTask.get(task) ?? []) {
      const end = to >= data.to_ms ? "on" : `until ${duration(to)}`;
      const begins = from <= data.from_ms ? "at first," : `from ${duration(from)}`;
      said.push([from, `${begins} ${end}: ${WORDS[data.doing[what]]} ${data.instances[instance]}`]);
    }
    for (const [from, to] of stillOf.get(task) ?? []) {
      said.push([from, `from ${duration(from)} ${to >= data.to_ms ? "on" : `until ${duration(to)}`}: paused`]);
    }
    said.sort((one, other) => one[0] - other[0] || one[1].includes("runs on") - other[1].includes("runs on"));
    const close = make("button", { type: "button" }, "Close");
    const steps = [...article.querySelectorAll(".steps li")].filter(
      li => new RegExp(`(^|[ ])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}([ ,:]|$)`).test(li.textContent));
    const story = make("section", { class: "story", tabindex: "-1", "aria-label": `task ${name}` },
      make("h3", {}, `Task ${name} (${data.group.toLowerCase()} ${group})`),
      make("ul", {}, ...said.map(([, text]) => make("li", {}, text))));
    if (steps.length) {
      story.append(make("h4", {}, "Its steps, with their reasons"), make("ul", {}, ...steps.map(li => make("li", {}, li.textContent))));
    }
    story.append(close);
    const asked = document.activeElement;
    close.addEventListener("click", () => { story.remove(); asked?.focus(); });
    story.addEventListener("keydown", event => { if (event.key === "Escape") close.click(); });
    article.querySelector(".lanes").after(story);
    story.focus();
    story.scrollIntoView({ block: "nearest" });
  };

  const lane = (data, stretches, still) => {
    const svg = draw("svg", { class: "chart", width: "100%", height: 22, role: "img" });
    const length = data.to_ms - data.from_ms;
    const percent = ms => `${(100 * (ms - data.from_ms) / length).toFixed(3)}%`;
    const said = [];
    for (const [what, instance, from, to] of stretches) {
      const kind = data.doing[what];
      const full = kind === "runs" || kind === "restores";
      const box = { x: percent(from), width: `${(100 * (to - from) / length).toFixed(3)}%`, y: full ? 1 : 15, height: full ? 14 : 5, class: kind };
      const shape = draw("rect", box);
      const words = `${duration(from)} ${WORDS[kind]} ${data.instances[instance]}`;
      shape.append(draw("title", {}, words));
      svg.append(shape);
      if (kind === "runs") {
        said.push(words);
        if ((to - from) / length > 0.07) svg.append(draw("text", { class: "lane", x: percent(from), dx: 4, y: 12 }, data.instances[instance]));
      }
    }
    for (const [from] of still) svg.append(draw("line", { class: "still-tick", x1: percent(from), x2: percent(from), y1: 0, y2: 20 }));
    svg.setAttribute("aria-label", said.join("; "));
    return svg;
  };

  const equip = article => {
    const holder = article.querySelector("script.data");
    const first = article.querySelector(".block.drawing");
    if (!holder || !first) return;
    const data = JSON.parse(holder.textContent);
    const byTask = new Map(), stillOf = new Map(), at = data.times_ms;
    for (const [task, instance, what, from, to] of inParts(data.stretches, 5)) {
      if (!byTask.has(task)) byTask.set(task, []);
      byTask.get(task).push([what, instance, at[from], at[to]]);
    }
    for (const [task, from, to] of inParts(data.standstills, 3)) {
      if (!stillOf.has(task)) stillOf.set(task, []);
      stillOf.get(task).push([at[from], at[to]]);
    }
    const tasks = Object.entries(data.tasks).map(([index, [name, group]]) => ({ index: Number(index), name, group }));
    const byName = new Map(tasks.map(one => [one.name, one.index]));

    const [zoomLabel, zoom] = choice("Zoom", [["2", "2 ×"], ["4", "4 ×"], ["8", "8 ×"], ["16", "16 ×"]]);
    zoom.options[0].textContent = "whole";
    const [placeLabel, place] = choice(data.member, data.instances.map((name, index) => [index, name]));
    const [groupLabel, group] = choice(data.group, [...new Set(tasks.map(one => one.group))].map(name => [name, name]));
    const task = make("input", { type: "search", placeholder: tasks[0]?.name ?? "", spellcheck: "false" });
    const count = make("p", { class: "note", role: "status" });
    const lanes = make("div", { class: "lanes" });
    const tools = make("form", { class: "tools", "aria-label": "Zoom and filter" },
      zoomLabel, placeLabel, groupLabel, make("label", {}, "Task", task));
    tools.addEventListener("submit", event => event.preventDefault());
    first.append(tools, count, lanes);

    const scrolls = () => article.querySelectorAll(".block.drawing .scroll");
    const zoomed = () => {
      for (const of of scrolls()) {
        const middle = (of.scrollLeft + of.clientWidth / 2) / of.scrollWidth;
        for (const svg of of.querySelectorAll("svg.chart")) svg.style.width = `${100 * Number(zoom.value || 1)}%`;
        of.scrollLeft = middle * of.scrollWidth - of.clientWidth / 2;
      }
    };
    const listen = of => of.addEventListener("scroll", () => {
      for (const other of scrolls()) if (other !== of && other.scrollLeft !== of.scrollLeft) other.scrollLeft = of.scrollLeft;
    });
    scrolls().forEach(listen);

    const showLanes = shown => {
      lanes.replaceChildren();
      if (!shown) return;
      const names = make("div", { class: "names" }), sums = make("div", { class: "sums" });
      const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Each of these tasks over time" });
      for (const one of shown.slice(0, MOST_LANES)) {
        const button = make("button", { type: "button", class: "task" }, one.name);
        button.addEventListener("click", () => tell(article, data, byTask, stillOf, one.index));
        names.append(make("div", { style: "height:22px" }, button));
        scroll.append(lane(data, byTask.get(one.index) ?? [], stillOf.get(one.index) ?? []));
      }
      names.style.paddingTop = scroll.style.paddingTop = "0";
      lanes.append(make("div", { class: "board" }, names, scroll, sums));
      listen(scroll);
      zoomed();
    };

    const filter = () => {
      const wanted = { place: place.value, group: group.value, task: task.value.trim() };
      const any = wanted.place || wanted.group || wanted.task;
      const touches = one => (byTask.get(one.index) ?? []).some(([, instance]) => String(instance) === wanted.place);
      const shown = tasks.filter(one => (!wanted.group || one.group === wanted.group)
        && (!wanted.task || one.name.startsWith(wanted.task)) && (!wanted.place || touches(one)));
      const more = shown.length > MOST_LANES ? `, the first ${MOST_LANES} of them below` : "";
      count.textContent = any ? `${shown.length} of ${tasks.length} tasks${more}` : "";
      for (const of of article.querySelectorAll("g[data-places], .names > [data-places], .sums > [data-places]")) {
        of.classList.toggle("dimmed", Boolean(wanted.place) && of.dataset.places !== wanted.place);
      }
      for (const row of article.querySelectorAll("tbody tr")) {
        const of = row.dataset;
        row.hidden = Boolean((wanted.task && of.task !== undefined && !of.task.startsWith(wanted.task))
          || (wanted.group && of.group !== undefined && of.group !== wanted.group)
          || (wanted.place && of.places !== undefined && !of.places.split(" ").includes(wanted.place)));
      }
      showLanes(any ? shown : null);
    };
    zoom.addEventListener("change", zoomed);
    for (const of of [place, group]) of.addEventListener("change", filter);
    task.addEventListener("input", filter);

    for (const of of article.querySelectorAll("span.task")) {
      const index = byName.get(of.closest("tr").dataset.task);
      if (index === undefined) continue;
      const button = make("button", { type: "button", class: "task" }, of.textContent);
      button.addEventListener("click", () => tell(article, data, byTask, stillOf, index));
      of.replaceWith(button);
    }
  };

  const UNITS = {
    ms: 1, s: 1e3, m: 6e4, min: 6e4, h: 36e5, d: 864e5, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  };
  const ONE = "\\d[\\d,.]*(?: ?(?:ms|min|[smhdkMGTPE])(?:\\d+[smh])?)?";
  const FIGURE = new RegExp(`^(?:about |at least |at most )*(${ONE})(?: to (${ONE}))?(?![\\w-])`);
  // What is loud or unknown weighs more than any figure, and that more than other words; of a range its end counts.
  const weight = text => {
    const figure = text.match(FIGURE);
    if (!figure) return [/^(unknown|never|does not)/.test(text) ? 2 : 0, 0];
    const parts = (figure[2] ?? figure[1]).replace(/,/g, "").matchAll(/([\d.]+) ?([a-zA-Z]+)?/g);
    return [1, [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS[unit] ?? 1), 0)];
  };

  const sortable = table => {
    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = make("button", { type: "button", class: "task" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const body = table.tBodies[0];
        const keyed = [...body.rows].map(row => {
          const text = row.cells[column].textContent.trim();
          return { row, text, weight: weight(text) };
        });
        const words = keyed.every(one => one.weight[0] !== 1);
        const [first, then] = words ? ["ascending", "descending"] : ["descending", "ascending"];
        const way = head.getAttribute("aria-sort") === first ? then : first;
        heads.forEach(one => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", way);
        keyed.sort((one, other) => {
          const [kind, value] = one.weight, [otherKind, otherValue] = other.weight;
          const order = words || (!kind && !otherKind) ? one.text.localeCompare(other.text) : kind - otherKind || value - otherValue;
          return way === "descending" ? -order : order;
        });
        body.append(...keyed.map(one => one.row));
      });
    });
  };

  ages();
  document.querySelectorAll("article.report").forEach(equip);
  document.querySelectorAll(".sortable table").forEach(sortable);
  addEventListener("beforeprint", () => {
    for (const of of document.querySelectorAll("details:not(.steps)")) of.open = true;
  });
})();
