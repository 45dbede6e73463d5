/* The card that follows the pointer. Without content it goes away. */
function showTip(at, ...content) {
  const card = $("#tip");
  card.classList.toggle("on", content.length > 0);
  if (!content.length) return;
  put(card, ...content);
  const box = card.getBoundingClientRect(), below = at.clientY + 18;
  const top = below + box.height > innerHeight ? at.clientY - box.height - 14 : below;
  card.style.left = `${Math.max(8, Math.min(innerWidth - box.width - 8, at.clientX + 18))}px`;
  card.style.top = `${Math.max(8, top)}px`;
}
