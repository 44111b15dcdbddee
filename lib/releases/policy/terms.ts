import { formatVersion, type Release, type StoredFile } from "../schema";
import { MAX_ED25519_BYTES, type PublicKeys, parseMinisignature } from "../signatures";
import { parseUpdateManifest, updateManifestProblem } from "../update-manifest";
import type { Requirement } from "./schema";

/** What a product's releases must have. `publicKeys`: those whose signatures count, as `keysOf` returns them. */
export type Terms = { requirements: readonly Requirement[]; approvals: number; publicKeys: readonly string[] };

/** A row of the policies, with the terms that follow. */
export type PolicyRow = {
  requirements: string[];
  approvals: number;
  publicKeys: string[];
  nextRequirements: string[];
  nextApprovals: number | null;
  nextPublicKeys: string[];
  nextAt: Date | null;
};

/** How long what loosens a policy waits. */
export const LOOSENING_DELAY_MS = 24 * 60 * 60 * 1000;
/** What a new publisher of the product loosens. */
export const NEEDS_PUBLISHER: readonly Requirement[] = ["publisher", "attestation"];

export const NO_TERMS: Terms = { requirements: [], approvals: 0, publicKeys: [] };

/** The terms of a policy at a time. */
export function termsAt(row: PolicyRow, at: Date): Terms {
  const next = nextTerms(row);
  if (next && row.nextAt && row.nextAt <= at) return next;
  const { requirements, approvals, publicKeys } = row;
  return { requirements: requirements as Requirement[], approvals, publicKeys };
}

/** Whether a publisher counts: it was there when publishers became required (`since`), or a day ago. */
export function isTrusted({ createdAt }: { createdAt: Date }, { since }: { since: Date }, at: Date): boolean {
  return createdAt <= since || createdAt.getTime() <= at.getTime() - LOOSENING_DELAY_MS;
}

/** The terms that follow, in force or not; null if none do. */
export function nextTerms({ nextRequirements, nextApprovals, nextPublicKeys }: PolicyRow): Terms | null {
  if (nextApprovals === null) return null;
  return { requirements: nextRequirements as Requirement[], approvals: nextApprovals, publicKeys: nextPublicKeys };
}

/** Whether terms restrict anything. */
export const isInForce = ({ requirements, approvals }: Terms): boolean => requirements.length > 0 || approvals > 0;

/**
 * Divides a change of terms: what tightens them applies at once, what loosens them later. `later` is null if nothing does. A
 * key that no longer counts tightens them, and one more key loosens them. Until signatures are no longer required, the keys stay.
 */
export function divideChange(current: Terms, wanted: Terms): { now: Terms; later: Terms | null } {
  const [isPinned, staysPinned] = [current, wanted].map(({ requirements }) => requirements.includes("signature"));
  const kept = current.publicKeys.filter((key) => !staysPinned || wanted.publicKeys.includes(key));
  const publicKeys = isPinned ? kept : wanted.publicKeys;
  const now = {
    requirements: sorted([...current.requirements, ...wanted.requirements]),
    approvals: Math.max(current.approvals, wanted.approvals),
    publicKeys: sorted(publicKeys),
  };
  const target = { ...wanted, requirements: sorted(wanted.requirements), publicKeys: sorted(wanted.publicKeys) };
  return { now, later: isSameTerms(now, target) ? null : target };
}

export function isSameTerms(a: Terms, b: Terms): boolean {
  const textOf = ({ requirements, approvals, publicKeys }: Terms) =>
    JSON.stringify([sorted(requirements), approvals, sorted(publicKeys)]);
  return textOf(a) === textOf(b);
}

const sorted = <T extends string>(values: readonly T[]): T[] => [...new Set(values)].sort();

/** The public keys of a product as texts: `minisign:KEY`, `ed:KEY`, and `manifest:KEY` for each of electron-builder's. */
export function keysOf(keys: PublicKeys): string[] {
  const named = (kind: KeyKind) => keysOfKind(keys, kind).map((key) => `${kind}:${key}`);
  return [...named("minisign"), ...named("ed"), ...named("manifest")];
}

type KeyKind = keyof PublicKeys;
const keysOfKind = (keys: PublicKeys, kind: KeyKind): readonly string[] => [keys[kind] ?? []].flat();

type Build = Pick<Release, "product" | "platform" | "architecture" | "channel" | "version">;

/** Identifies a release by what no other one has, in one text: none of the parts has a space. */
export function buildOf({ product, platform, architecture, channel, version }: Build): string {
  return [product, platform, architecture, channel, formatVersion(version)].join(" ");
}

/** Identifies a file that is admitted: its bytes, and where they are if this service does not check them as it sends them. */
export function fileKeyOf({ sha256, url, s3Key }: StoredFile & { sha256: string }): string {
  const location = url ?? s3Key;
  return location === undefined ? sha256 : `${sha256} ${location}`;
}

/** A file as publishing has verified it: a signature that does not match its key, or an attestation of another file, is refused. */
type VerifiedFile = { minisign?: string | undefined; edSignature?: string | undefined; sizeBytes: number };

/** Whether publishing has verified a signature of the file by one of these keys, of which all are among those that count. */
export function isSigned(
  { minisign, edSignature, sizeBytes }: VerifiedFile,
  keys: PublicKeys,
  counted: readonly string[],
) {
  const counts = (kind: KeyKind) => {
    const own = keysOfKind(keys, kind);
    return own.length > 0 && own.every((key) => counted.includes(`${kind}:${key}`));
  };
  const isWhole = sizeBytes <= MAX_ED25519_BYTES;
  if (edSignature !== undefined && isWhole && counts("ed")) return true;
  if (minisign === undefined || !counts("minisign")) return false;
  return isWhole || parseMinisignature(minisign).algorithm === "ED";
}

/** The SHA-512 of the files in a release's signed manifest, if one of the keys that count signed it. */
export function hashesInManifest(release: Release, counted: readonly string[]): string[] {
  const { electron } = release.signedDocuments;
  const manifest = counted.flatMap((key) => (key.startsWith("manifest:") ? [key.slice("manifest:".length)] : []));
  if (!electron || manifest.length === 0) return [];
  if (updateManifestProblem(electron, release, { manifest }) !== undefined) return [];
  return parseUpdateManifest(electron.text).files.map(({ sha512 }) => sha512);
}
