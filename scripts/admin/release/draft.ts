import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Destination, DraftFile, ReleaseDraft } from "../../../lib/admin/releases/publish/draft";
import { FileKind } from "../../../lib/admin/releases/publish/file-kind";
import { UsageError } from "../../command-line";
import { FILTER_OPTIONS, flag, parseInteger, parseOptions, parsePercentage, resolveFromCaller, text } from "./options";

/** Options that set a release's fields. */
export const FIELD_OPTIONS = {
  notes: text,
  "notes-url": text,
  "minimum-supported": text,
  "minimum-system": text,
  "requires-from": text,
  "build-version": text,
  "phased-rollout-interval": text,
  "released-at": text,
  rollout: text,
  "rollout-series": text,
  critical: flag,
  rollback: flag,
} as const;
/** Options that say where files are served from. */
export const DESTINATION_OPTIONS = { s3: flag, url: text } as const;
/** Options that confirm what looks like a mistake, and set the product's keys. */
export const CHECK_OPTIONS = { "minisign-key": text, "ed-key": text, new: flag, prerelease: flag } as const;

const ADD_OPTIONS = {
  ...FILTER_OPTIONS,
  ...FIELD_OPTIONS,
  ...DESTINATION_OPTIONS,
  ...CHECK_OPTIONS,
  id: text,
  kind: { type: "string", multiple: true },
  from: text,
  blockmap: text,
  "file-name": text,
  "content-type": text,
  minisign: text,
  "ed-signature": text,
} as const;

type Values<Options extends Record<string, { type: "string" | "boolean" }>> = {
  [name in keyof Options]?: (Options[name]["type"] extends "string" ? string : boolean) | undefined;
};

/** Parses the arguments of `add`. @throws UsageError */
export async function parseDraft(args: string[]) {
  const { values, positionals } = parseOptions(ADD_OPTIONS, args, true);
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new UsageError("add takes exactly one file.");
  const missing = (["product", "platform", "arch", "version"] as const).filter((name) => values[name] === undefined);
  if (missing.length > 0) throw new UsageError(`add requires ${missing.map((name) => `--${name}`).join(", ")}.`);
  const { id, product, platform, arch: architecture, version, channel } = values;
  const draftFile: DraftFile = {
    file: resolveFromCaller(file),
    ...parseKinds(values.kind, values.from),
    destination: parseDestination(values),
    blockMapFile: values.blockmap === undefined ? undefined : resolveFromCaller(values.blockmap),
    artifact: {
      fileName: values["file-name"],
      contentType: values["content-type"],
      minisign: await textOrFile(values.minisign),
      edSignature: values["ed-signature"],
    },
  };
  const release = { id, product, platform, architecture, version, channel, ...(await parseFields(values)) };
  return { values, draft: { release, files: [draftFile], ...(await parseChecks(values)) } satisfies ReleaseDraft };
}

/** The fields of a release as the manifest has them; undefined where no option sets one. @throws UsageError */
export async function parseFields(values: Values<typeof FIELD_OPTIONS>) {
  return {
    notes: await textOrFile(values.notes),
    notesUrl: values["notes-url"],
    minimumSupportedVersion: values["minimum-supported"],
    minimumSystemVersion: values["minimum-system"],
    requiresFrom: values["requires-from"],
    buildVersion: values["build-version"],
    phasedRolloutIntervalSeconds: parseInteger(values["phased-rollout-interval"], "--phased-rollout-interval"),
    releasedAt: values["released-at"],
    rollout: values.rollout === undefined ? undefined : parsePercentage(values.rollout),
    rolloutSeries: values["rollout-series"],
    critical: values.critical,
    rollback: values.rollback,
  };
}

/** @throws UsageError */
export async function parseChecks(
  values: Values<typeof CHECK_OPTIONS>,
): Promise<Required<Pick<ReleaseDraft, "publicKeys" | "confirmations">>> {
  return {
    publicKeys: { minisign: await textOrFile(values["minisign-key"]), ed: values["ed-key"] },
    confirmations: { isNew: values.new, isPrerelease: values.prerelease },
  };
}

/** @throws UsageError */
export function parseDestination({ url, s3 }: Values<typeof DESTINATION_OPTIONS>): Destination {
  if (url !== undefined && s3) throw new UsageError("--url and --s3 exclude each other.");
  if (url !== undefined) return { kind: "url", url };
  return { kind: s3 ? "storage" : "folder" };
}

function parseKinds(inputs: string[] = ["installer"], from: string | undefined): Pick<DraftFile, "kinds" | "from"> {
  const kinds = inputs.map((input) => {
    const kind = FileKind.options.find((known) => known === input);
    if (kind === undefined) throw new UsageError(`--kind must be one of ${FileKind.options.join(", ")}.`);
    return kind;
  });
  const isDelta = kinds.includes("delta");
  if (isDelta !== (from !== undefined)) throw new UsageError("--kind delta and --from VERSION belong together.");
  if (kinds.length > 1 && (isDelta || kinds.includes("other"))) {
    throw new UsageError("Only installer and update can be combined.");
  }
  return { kinds, from };
}

/** Reads a file's text, or returns the argument itself. @throws UsageError if a path's file does not exist */
async function textOrFile(input: string | undefined): Promise<string | undefined> {
  if (input === undefined) return input;
  const file = resolveFromCaller(input);
  if (existsSync(file) && statSync(file).isFile()) return readFile(file, "utf8");
  if (/^\S+\.(md|txt|sig|minisig|pub)$/i.test(input)) throw new UsageError(`The file ${input} does not exist.`);
  return input;
}
