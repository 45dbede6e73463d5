"use strict";
/* Light or dark: as chosen before, or else as the system is. Runs in the head, before anything is drawn. */
const systemIsDark = matchMedia("(prefers-color-scheme:dark)");

function chosenTheme() {
  try {
    return localStorage.getItem("laminar-theme");
  } catch {
    return null; // storage is refused in private windows
  }
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}

function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("laminar-theme", theme);
  } catch {
    /* the choice lasts as long as the page */
  }
  showTheme(theme);
}

const isDark = () => document.documentElement.dataset.theme === "dark";

showTheme(chosenTheme() === "dark" || (!chosenTheme() && systemIsDark.matches) ? "dark" : "light");
systemIsDark.addEventListener("change", (event) => chosenTheme() || showTheme(event.matches ? "dark" : "light"));
