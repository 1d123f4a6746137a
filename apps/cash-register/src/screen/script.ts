/**
 * The screen's script. Everything works without it but copying and refreshing: it copies what `data-copy` names, puts
 * fresh figures into `#live`, counts a lock down, and keeps a button from being pressed twice.
 */
export const SCRIPT = `(() => {
'use strict';
document.documentElement.classList.add('scripted');
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent.trim();
  let copied = false;
  try {
    await navigator.clipboard.writeText(text);
    copied = true;
  } catch {
    // Without https the clipboard is closed to scripts; the old way still works.
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    copied = document.execCommand('copy');
    field.remove();
  }
  if (copied) button.textContent = button.dataset.copied;
});
document.addEventListener('submit', (event) => {
  for (const button of event.target.querySelectorAll('button')) setTimeout(() => { button.disabled = true; });
});
addEventListener('pageshow', () => {
  for (const button of document.querySelectorAll('form button')) button.disabled = false;
});
const lock = document.querySelector('[data-reload-after]');
if (lock) setTimeout(() => location.replace('/'), Number(lock.dataset.reloadAfter) * 1000 + 500);
const live = document.getElementById('live');
const refresh = async () => {
  if (document.hidden || live.querySelector('.asked[open]')) return;
  const response = await fetch('/screen/live?seen=' + encodeURIComponent(live.firstElementChild.dataset.version));
  if (response.status === 401) location.reload();
  if (response.status !== 200) return;
  const before = [...live.querySelectorAll('details[data-seq]')];
  const known = new Map(before.map((one) => [one.dataset.seq, one.open]));
  live.innerHTML = await response.text();
  for (const one of live.querySelectorAll('details[data-seq]')) {
    if (known.has(one.dataset.seq)) one.open = known.get(one.dataset.seq);
  }
};
if (live) setInterval(() => refresh().catch(() => undefined), 3000);
})();`;
