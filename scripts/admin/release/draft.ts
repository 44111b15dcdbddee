import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import type { ObjectStorage } from "../../../lib/adapters/object-storage";
import type { Destination, ReleaseDraft } from "../../../lib/admin/releases/publish/draft";
import { ArtifactKind } from "../../../lib/releases/schema";
import { UsageError } from "../../command-line";

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>["options"]>;

const text = { type: "string" } as const;
export const flag = { type: "boolean" } as const;
/** Options that select releases. */
export const FILTER_OPTIONS = {
  product: text,
  platform: text,
  arch: text,
  channel: text,
  version: text,
  catalog: text,
};
const RELEASE_OPTIONS = {
  notes: text,
  "notes-url": text,
  "minimum-supported": text,
  "minimum-system": text,
  "build-version": text,
  "phased-rollout-interval": text,
  "released-at": text,
  id: text,
  rollout: text,
  critical: flag,
  rollback: flag,
};
const ARTIFACT_OPTIONS = {
  "file-name": text,
  "content-type": text,
  minisign: text,
  "ed-signature": text,
  s3: flag,
  url: text,
};
const CHECK_OPTIONS = { "minisign-key": text, "ed-key": text, new: flag, prerelease: flag };

const ADD_OPTIONS = {
  ...FILTER_OPTIONS,
  ...RELEASE_OPTIONS,
  ...ARTIFACT_OPTIONS,
  ...CHECK_OPTIONS,
  kind: { type: "string", multiple: true },
} as const;

/** Resolves a path against the folder in which npm was called. */
export const resolveFromCaller = (file: string) => path.resolve(process.env.INIT_CWD ?? ".", file);

/** @throws Error with an ERR_PARSE_ARGS code, which `runCommandLine` reports as a usage error */
export function parseOptions<T extends Options>(options: T, args: string[], allowPositionals: boolean) {
  return parseArgs({ args, options, allowPositionals, strict: true });
}

/**
 * Parses the arguments of the command `add`.
 * @throws UsageError
 */
export async function parseDraft(
  args: string[],
  storage: ObjectStorage | null,
): Promise<{ draft: ReleaseDraft; catalog: string | undefined }> {
  const { values, positionals } = parseOptions(ADD_OPTIONS, args, true);
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new UsageError("add takes exactly one file.");
  const missing = (["product", "platform", "arch", "version"] as const).filter((name) => values[name] === undefined);
  if (missing.length > 0) throw new UsageError(`add requires ${missing.map((name) => `--${name}`).join(", ")}.`);
  const draft: ReleaseDraft = {
    release: {
      id: values.id,
      product: values.product,
      platform: values.platform,
      architecture: values.arch,
      version: values.version,
      channel: values.channel,
      critical: values.critical,
      rollback: values.rollback,
      notes: await textOrFile(values.notes),
      notesUrl: values["notes-url"],
      minimumSupportedVersion: values["minimum-supported"],
      minimumSystemVersion: values["minimum-system"],
      buildVersion: values["build-version"],
      phasedRolloutIntervalSeconds: parseSeconds(values["phased-rollout-interval"]),
      releasedAt: values["released-at"],
      rollout: values.rollout === undefined ? undefined : parsePercentage(values.rollout),
    },
    files: [
      {
        file: resolveFromCaller(file),
        kinds: (values.kind ?? ["installer"]).map(parseKind),
        destination: parseDestination(values, storage),
        artifact: {
          fileName: values["file-name"],
          contentType: values["content-type"],
          minisign: await textOrFile(values.minisign),
          edSignature: values["ed-signature"],
        },
      },
    ],
    publicKeys: { minisign: await textOrFile(values["minisign-key"]), ed: values["ed-key"] },
    confirmations: { isNew: values.new, isPrerelease: values.prerelease },
  };
  return { draft, catalog: values.catalog };
}

export function parsePercentage(input: string | undefined): number {
  const [, digits] = /^(\d{1,3}) ?%?$/.exec(input ?? "") ?? [];
  if (digits === undefined || Number(digits) > 100)
    throw new UsageError("The rollout must be an integer from 0 to 100.");
  return Number(digits);
}

function parseSeconds(input: string | undefined): number | undefined {
  if (input !== undefined && !/^\d{1,9}$/.test(input)) throw new UsageError("The interval must be an integer.");
  return input === undefined ? undefined : Number(input);
}

function parseKind(input: string): ArtifactKind {
  const kind = ArtifactKind.options.find((known) => known === input);
  if (kind === undefined) throw new UsageError(`--kind must be one of ${ArtifactKind.options.join(", ")}.`);
  return kind;
}

/** Reads a file's text, or returns the argument itself. @throws UsageError if a path's file does not exist */
async function textOrFile(input: string | undefined): Promise<string | undefined> {
  if (input === undefined) return input;
  const file = resolveFromCaller(input);
  if (existsSync(file) && statSync(file).isFile()) return readFile(file, "utf8");
  if (/^\S+\.(md|txt|sig|minisig|pub)$/i.test(input)) throw new UsageError(`The file ${input} does not exist.`);
  return input;
}

function parseDestination(
  { url, s3 }: { url?: string | undefined; s3?: boolean | undefined },
  storage: ObjectStorage | null,
): Destination {
  if (url !== undefined && s3) throw new UsageError("--url and --s3 exclude each other.");
  if (url !== undefined) return { kind: "url", url };
  if (!s3) return { kind: "folder" };
  if (!storage) throw new UsageError("--s3 requires RELEASE_S3_ENDPOINT and the other RELEASE_S3_ variables.");
  return { kind: "storage" };
}
