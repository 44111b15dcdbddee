import { UsageError } from "../../command-line";
import { publishDrafts } from "./add";
import type { ReleaseCommand } from "./define-release-command";
import { CHECK_OPTIONS, FIELD_OPTIONS, parseChecks, parseDestination, parseFields } from "./draft";
import { resolveFromCaller } from "./options";

/** The options of `add-folder`. */
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
