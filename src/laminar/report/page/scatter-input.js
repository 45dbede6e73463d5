/* Pointer and keys of the map. */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const LASSO_LENGTH = 6; // points of a path that is a lasso and no click

function listen(map) {
  const { canvas } = map;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const hover = (i, place) => {
    if (i !== map.hover) {
      map.hover = i;
      map.draw();
    }
    map.onHover?.(i, place);
  };
  let isDown = false;
  canvas.addEventListener("pointerdown", (event) => {
    // By touch only after the lasso button, so that the page still scrolls.
    if (event.button || (event.pointerType === "touch" && !map.isTouchLasso)) return;
    isDown = true;
    map.lasso = [at(event)];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const point = at(event);
    if (!isDown) return hover(map.nearest(point), event);
    const last = map.lasso.at(-1);
    if (Math.hypot(point[0] - last[0], point[1] - last[1]) > 3) {
      map.lasso.push(point);
      map.draw();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const path = map.lasso, isLasso = isDown && path.length > LASSO_LENGTH;
    isDown = false;
    map.lasso = null;
    const i = isLasso ? -1 : map.nearest(at(event), 16);
    if (isLasso) map.onLasso?.(map.inside(path), event.shiftKey);
    else if (i >= 0) map.onPick?.(i, event);
    else map.onClear?.();
    map.draw();
  });
  canvas.addEventListener("pointercancel", () => {
    isDown = false;
    map.lasso = null;
    map.draw();
  });
  canvas.addEventListener("pointerleave", (event) => isDown || hover(-1, event));
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      map.zoom(event.deltaY < 0 ? 1.25 : 0.8, at(event));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key], isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isPlain) return;
    if (arrow) {
      const i = map.neighbour(map.hover >= 0 ? map.hover : map.current, arrow);
      if (i >= 0) hover(i, placeOnScreen(map, i));
    } else if (event.key === "Enter" && map.hover >= 0) map.onPick?.(map.hover, event);
    else if (event.key === " " && map.hover >= 0) map.onLasso?.([map.hover], true);
    else if (event.key === "+" || event.key === "=") map.zoom(1.4);
    else if (event.key === "-") map.zoom(1 / 1.4);
    else if (event.key === "0") map.fit();
    else return;
    event.preventDefault();
  });
}

function placeOnScreen(map, i) {
  const [x, y] = map.place(i), box = map.canvas.getBoundingClientRect();
  return { clientX: x + box.left, clientY: y + box.top };
}
