import type { ReleaseDocument } from "../list";

/** The fields of a release that a change sets, before and after it, for the audit trail. null: the release had no such field. */
export function changedFields(before: readonly ReleaseDocument[], id: string, to: object) {
  const release = before.find((one) => one.id === id);
  const valueBefore = (name: string) => release?.[name as keyof ReleaseDocument] ?? null;
  return { from: Object.fromEntries(Object.keys(to).map((name) => [name, valueBefore(name)])), to };
}
