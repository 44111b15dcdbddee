import type { AnyPrincipal } from "../../principal";
import { releaseFiles } from "../release-files";
import type { PublishedBy, Release } from "../schema";

/** Who publishes, as a release remembers it. Of an account only its id: the catalog outlives it, and may be public. */
export function toPublishedBy(principal: AnyPrincipal): PublishedBy {
  if ("publisher" in principal) {
    const { id, name, source } = principal.publisher;
    return { type: "publisher", id, name, source };
  }
  if ("key" in principal) return { type: "key", id: principal.key.id, name: principal.key.name, source: null };
  if ("operator" in principal)
    return { type: "operator", id: null, name: commandLineName(principal.operator), source: null };
  return { type: "operator", id: principal.account.id, name: principal.account.id, source: null };
}

const commandLineName = (operator: string) => operator.replace(/^operator:/, "");

/** Whether a draft adds files to a release. */
export function hasNewFiles(before: Release, draft: Release): boolean {
  const known = new Set(releaseFiles(before).map(({ sha256 }) => sha256));
  return releaseFiles(draft).some(({ sha256 }) => !known.has(sha256));
}

/** Who published a release to which a draft adds files: who published the draft. Files of two builds have no source in common. */
export function joinPublishers({ publishedBy: before }: Release, { publishedBy }: Release): PublishedBy | undefined {
  if (publishedBy === null) return undefined;
  const [own, other] = [publishedBy.source, before?.source];
  const isSameBuild = own?.repository === other?.repository && own?.commit === other?.commit;
  return { ...publishedBy, source: isSameBuild ? own : null };
}

const KINDS = { publisher: "the publisher", key: "the API key", operator: "the operator" } as const;

/** Who published a release, for people. */
export const describePublisher = ({ type, name }: PublishedBy): string => `${KINDS[type]} ${name}`;
