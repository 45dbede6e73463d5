/* Changes that are sent to the server, and what became of them. Nothing is shown as saved before it answered. */
let isSending = false;

async function change(path, body) {
  if (isSending) return false;
  isSending = true;
  showSaved("saving");
  showSelection();
  try {
    studio.base = (await send(path, { version: studio.base, ...body })).version;
    showNotice("");
    showSaved("saved");
    return true;
  } catch (error) {
    showFailure(error);
    return false;
  } finally {
    isSending = false;
  }
}

async function giveLabel(value) {
  const attribute = studio.attribute ?? $("#attribute").value.trim(), chosen = [...studio.selected];
  if (!chosen.length) return;
  if (!attribute) return askFor($("#attribute"), "Name the attribute, such as identity.");
  if (value === "") return askFor($("#value"), "Type a value, or choose one.");
  const { ids } = studio.samples, wasProposed = studio.isProposed, isNew = studio.attribute === null;
  const isSaved = await change("/labels", { attribute, value, samples: chosen.map((i) => ids[i]) });
  if (isSaved && isNew) studio.attribute = attribute;
  if (isSaved) select([]); // before the answer of refresh: what is selected meanwhile stays
  await refresh();
  showSelection();
  if (!isSaved || !wasProposed || value === null || studio.selected.size) return;
  if (studio.value.trim() === value) studio.value = $("#value").value = ""; // the next one mostly has another
  showValues();
  takeNext();
}

async function step(path) {
  await change(path, {});
  await refresh();
  showSelection();
}

const undo = () => studio.undo && step("/undo");
const redo = () => studio.redo && step("/redo");

function askFor(field, sentence) {
  showNotice(sentence);
  field.focus();
}

/* Write a file; one that exists is replaced when the button is pressed again. */
function writer(button, path) {
  const label = button.textContent;
  let mayReplace = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    put(button, "writing…");
    try {
      const found = await send(path, { replace: mayReplace });
      mayReplace = false;
      showNotice(`Wrote ${found.path}.`, "good");
    } catch (error) {
      mayReplace = error.status === 409;
      showFailure(error, false);
    }
    put(button, mayReplace ? "Replace" : label);
    button.disabled = false;
  });
}

function showFailure(error, isLabel = true) {
  if (error.status === 0) {
    const { csv, command } = studio.samples;
    showNotice(`${GONE} ${csv}. To go on: ${command}`);
    showSaved("gone");
    showBusy(null);
    return;
  }
  showNotice(error.message);
  if (isLabel) showSaved("unsaved");
}

function showNotice(sentence, kind = "bad") {
  const notice = $("#notice");
  notice.hidden = !sentence;
  notice.dataset.kind = kind;
  put(notice, sentence);
}

const SAVED = {
  saved: () => `every label is in ${studio.samples.csv}`,
  saving: () => "saving…",
  unsaved: () => "the last change was not saved",
  gone: () => "not connected",
};

function showSaved(kind) {
  const saved = $("#saved");
  saved.dataset.kind = kind;
  put(saved, h("span", {}, SAVED[kind]()));
}
