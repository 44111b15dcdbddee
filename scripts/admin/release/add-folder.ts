import { UsageError } from "../../command-line";
import { publishDrafts } from "./add";
import type { Command } from "./command";
import { CHECK_OPTIONS, FIELD_OPTIONS, parseChecks, parseDestination, parseFields } from "./draft";
import { flag, parseOptions, resolveFromCaller, text } from "./options";

const OPTIONS = {
  ...FIELD_OPTIONS,
  ...CHECK_OPTIONS,
  product: text,
  channel: text,
  version: text,
  arch: text,
  s3: flag,
  "dry-run": flag,
} as const;

/** `add-folder DIR --product P` */
export const addFolder: Command = async (args, open) => {
  const { values, positionals } = parseOptions(OPTIONS, args, true);
  const [folder] = positionals;
  if (folder === undefined || positionals.length > 1) throw new UsageError("add-folder takes exactly one folder.");
  if (values.product === undefined) throw new UsageError("add-folder requires --product.");
  // The other commands start without the packages that read archives and YAML.
  const { draftFolder } = await import("../../../lib/admin/releases/folder/draft-folder");
  const { tool, drafts, notes } = await draftFolder(resolveFromCaller(folder), {
    product: values.product,
    channel: values.channel,
    hints: { version: values.version, architecture: values.arch },
    fields: await parseFields(values),
    destination: parseDestination(values),
    ...(await parseChecks(values)),
  });
  const { store, output } = await open(values);
  for (const note of notes) console.error(note);
  if (!values["dry-run"]) return publishDrafts(store, output, drafts);
  const lines = drafts.flatMap(({ release: { platform, architecture, version, channel }, files }) =>
    files.map(({ file, kinds }) => [platform, architecture, version, channel, kinds.join("+"), file].join("  ")),
  );
  output.result({ dryRun: true, tool, releases: drafts }, [`${tool}:`, ...lines]);
};
