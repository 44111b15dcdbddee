import type { ReleaseDraft } from "../../../lib/releases/publishing/draft";
import type { PublishedReleases } from "../../../lib/releases/publishing/schema";
import { UsageError } from "../../command-line";
import type { Output } from "../output";
import { confirm, isInteractive } from "../terminal";
import type { ReleaseCommand } from "./define-release-command";
import {
  type ADD_OPTIONS,
  CHECK_OPTIONS,
  FIELD_OPTIONS,
  parseChecks,
  parseDestination,
  parseDraft,
  parseFields,
} from "./draft";
import { resolveFromCaller } from "./options";
import type { ReleaseStore } from "./release-store";

const OUTCOMES = { added: "Published", changed: "Changed", unchanged: "Already published:" } as const;

/** `add FILE --product P --platform P --arch A --version V` */
export const add: ReleaseCommand<typeof ADD_OPTIONS> = async ({ openStore, output }, values, [file = ""]) => {
  const draft = await parseDraft(file, values);
  await publishDrafts(await openStore(), output, [draft]);
};

/** Publishes drafts at once, and prints the result. */
async function publishDrafts(store: ReleaseStore, output: Output, drafts: readonly ReleaseDraft[]): Promise<void> {
  const added = await publishOrConfirm(store, drafts);
  const { releases, removedSamples, notes } = added;
  for (const note of notes) console.error(note);
  const lines = releases.map(({ id, outcome }) => `${OUTCOMES[outcome]} ${id}`);
  const samples = removedSamples.length;
  if (samples > 0) lines.push(`Removed the ${samples} sample releases: the catalog now has only your own releases.`);
  output.result(added, lines);
}

/** Asks for confirmation at a terminal if a draft looks like a mistake. */
export async function publishOrConfirm(
  store: ReleaseStore,
  drafts: readonly ReleaseDraft[],
): Promise<PublishedReleases> {
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

export const FOLDER_OPTIONS = {
  product: { value: "name", help: "the product (required)" },
  channel: { value: "name", help: "the channel (default: the tool's channel, otherwise by the version)" },
  version: { value: "version", help: "the version to publish, if the folder has several" },
  arch: { value: "arch", help: "the architecture of files whose name has none" },
  "dry-run": { help: "only list what would be published" },
  ...FIELD_OPTIONS,
  s3: { help: "upload to the object storage" },
  ...CHECK_OPTIONS,
} as const;

/** `add-folder DIR --product P` */
export const addFolder: ReleaseCommand<typeof FOLDER_OPTIONS> = async (
  { openStore, output },
  values,
  [folder = ""],
) => {
  if (values.product === undefined) throw new UsageError("add-folder requires --product.");
  // The other commands start without the packages that read archives and YAML.
  const { draftFolder } = await import("../../../lib/releases/publishing/folder/draft-folder");
  const { tool, drafts, notes } = await draftFolder(resolveFromCaller(folder), {
    product: values.product,
    channel: values.channel,
    hints: { version: values.version, architecture: values.arch },
    fields: await parseFields(values),
    destination: parseDestination(values),
    ...(await parseChecks(values)),
  });
  const store = await openStore();
  for (const note of notes) console.error(note);
  if (!values["dry-run"]) return publishDrafts(store, output, drafts);
  const lines = drafts.flatMap(({ release: { platform, architecture, version, channel }, files }) =>
    files.map(({ file, kinds }) => [platform, architecture, version, channel, kinds.join("+"), file].join("  ")),
  );
  output.result({ dryRun: true, tool, releases: drafts }, [`${tool}:`, ...lines]);
};
