/** The names behind a prefix of the checkboxes of a form that are checked: "scope." and "scope.audit:read" give "audit:read". */
export function checkedNames(fields: Readonly<Record<string, unknown>>, prefix: string): string[] {
  return Object.keys(fields).flatMap((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : []));
}
