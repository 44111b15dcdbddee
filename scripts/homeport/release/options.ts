import path from "node:path";
import type { ReleasesFilter } from "../../../lib/releases/publishing/schema";
import { UsageError } from "../../command-line";

/** The option `--NAME`, with what its value is called in the help; a flag has none. */
export type OptionSpec = { value?: string; help: string; isRepeatable?: true; isNegatable?: true };
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

export type Values<Specs extends OptionSpecs> = {
  [name in keyof Specs]?:
    | (Specs[name] extends { isRepeatable: true } ? string[] : Specs[name] extends { value: string } ? string : boolean)
    | undefined;
};

export const FILTER_OPTIONS = {
  product: { value: "name", help: "only releases of this product" },
  platform: { value: "platform", help: "only releases for this platform: windows, macos or linux" },
  arch: { value: "arch", help: "only releases for this architecture" },
  channel: { value: "name", help: "only releases on this channel" },
  version: { value: "version", help: "only releases with this version" },
} as const;

/** Resolves a path against the folder in which npm was called. */
export const resolveFromCaller = (file: string) => path.resolve(process.env.INIT_CWD ?? ".", file);

export function toFilter(
  { product, platform, arch, channel, version }: Values<typeof FILTER_OPTIONS>,
  ids: string[] = [],
): ReleasesFilter {
  return { product, platform, architecture: arch, channel, version, ids };
}

export function parsePercentage(input: string | undefined): number {
  const [, digits] = /^(\d{1,3}(?:\.\d)?) ?%?$/.exec(input ?? "") ?? [];
  if (digits === undefined || Number(digits) > 100)
    throw new UsageError("The rollout must be a number from 0 to 100, with at most one decimal place.");
  return Number(digits);
}

export function parseInteger(input: string | undefined, name: string): number | undefined {
  if (input !== undefined && !/^\d{1,9}$/.test(input)) throw new UsageError(`${name} must be an integer.`);
  return input === undefined ? undefined : Number(input);
}
