// A slider beside each number field that has both ends. The field stays the truth; without this script it is all there is.

// A number as the language of the page writes it, and back: "1.250,5" where the decimal mark is a comma.
export function numbersOf(form) {
  const decimal = form.dataset.decimal || ".", group = decimal === "," ? "." : ",";
  const grouped = new RegExp(`^-?\\d{1,3}(\\${group}\\d{3})+(\\${decimal}\\d+)?$`);
  return {
    read: (text) => Number((grouped.test(text.trim()) ? text.replaceAll(group, "") : text).replace(decimal, ".")),
    write: (value) => String(value).replace(".", decimal),
  };
}

export function withSliders(form, changed = () => {}) {
  const numbers = numbersOf(form);
  for (const field of form.querySelectorAll("input[data-low][data-high]")) {
    const low = Number(field.dataset.low), high = Number(field.dataset.high);
    if (field.dataset.low === "None" || field.dataset.high === "None" || !(high > low)) continue;
    const slider = document.createElement("input");
    const number = () => numbers.read(field.value);
    slider.type = "range";
    slider.min = low;
    slider.max = high;
    slider.step = field.dataset.step || (high - low) / 200;
    slider.value = number();
    slider.setAttribute("aria-label", `${field.labels[0].textContent} ${form.dataset.slider}`);
    slider.addEventListener("input", () => { field.value = numbers.write(Number(slider.value)); changed(); });
    field.addEventListener("input", () => { if (!Number.isNaN(number())) slider.value = number(); changed(); });
    field.after(slider);
  }
}

// A page that answers a form is there again by its address: going back to it asks nobody to send the form once more.
history.replaceState(null, "", location.href);

const limits = document.querySelector("form:has(fieldset)");
if (limits) withSliders(limits);
