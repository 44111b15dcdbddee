import type { ReleaseDraft } from "../../../lib/releases/publishing/draft";
import type { Output } from "../output";
import { confirm, isInteractive } from "../terminal";
import type { ReleaseCommand } from "./define-release-command";
import { type ADD_OPTIONS, parseDraft } from "./draft";
import type { AddOutcome, ReleaseStore } from "./release-store";

const OUTCOMES = { added: "Published", changed: "Changed", unchanged: "Already published:" } as const;

/** `add FILE --product P --platform P --arch A --version V` */
export const add: ReleaseCommand<typeof ADD_OPTIONS> = async ({ openStore, output }, values, [file = ""]) => {
  const draft = await parseDraft(file, values);
  await publishDrafts(await openStore(), output, [draft]);
};

/** Publishes drafts at once, and prints the result. */
export async function publishDrafts(
  store: ReleaseStore,
  output: Output,
  drafts: readonly ReleaseDraft[],
): Promise<void> {
  const added = await addOrConfirm(store, drafts);
  const { releases, removedSamples, notes } = added;
  for (const note of notes) console.error(note);
  const lines = releases.map(({ id, outcome }) => `${OUTCOMES[outcome]} ${id}`);
  const samples = removedSamples.length;
  if (samples > 0) lines.push(`Removed the ${samples} sample releases: the catalog now has only your own releases.`);
  output.result(added, lines);
}

/** Asks for confirmation at a terminal if a draft looks like a mistake. */
async function addOrConfirm(store: ReleaseStore, drafts: readonly ReleaseDraft[]): Promise<AddOutcome> {
  try {
    return await store.add(drafts);
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code !== "confirmation_required" || !isInteractive()) throw error;
    if (!(await confirm(`${message}\nPublish anyway?`))) throw error;
    const isNew = true;
    return store.add(drafts.map((draft) => ({ ...draft, confirmations: { ...draft.confirmations, isNew } })));
  }
}
