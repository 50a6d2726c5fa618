// A slider beside each number field that has both ends. The field stays the truth; without this script it is all there is.

export function withSliders(form, changed = () => {}) {
  for (const field of form.querySelectorAll("input[data-low][data-high]")) {
    const low = Number(field.dataset.low), high = Number(field.dataset.high);
    if (field.dataset.low === "None" || field.dataset.high === "None" || !(high > low)) continue;
    const slider = document.createElement("input");
    const number = () => Number(field.value.replaceAll(",", ""));
    slider.type = "range";
    slider.min = low;
    slider.max = high;
    slider.step = field.dataset.step || (high - low) / 200;
    slider.value = number();
    slider.setAttribute("aria-label", field.labels[0].textContent + " (slider)");
    slider.addEventListener("input", () => { field.value = Number(slider.value); changed(); });
    field.addEventListener("input", () => { if (!Number.isNaN(number())) slider.value = number(); changed(); });
    field.after(slider);
  }
}

const limits = document.querySelector("form:has(fieldset)");
if (limits) withSliders(limits);
