import { FieldValue, fieldLabel } from "./facts";

/** Longer details are folded in any case, so that one event does not fill the page. */
const FOLDED_CHARACTERS = 240;

type Fields = Record<string, unknown>;

/** The details of an event: each value as it was and as it became, then what else was recorded. */
export function EventDetails({ details, isFolded = false }: { details: unknown; isFolded?: boolean }) {
  if (!isFields(details)) return null;
  const { from, to, ...others } = details;
  const changes = changesOf(from, to);
  const lines = [
    ...changes.map(([name, before, after]) => (
      <li key={`changed ${name}`}>
        {name && `${fieldLabel(name)}: `}
        <FieldValue value={before} /> → <FieldValue value={after} />
      </li>
    )),
    ...Object.entries(changes.length > 0 ? others : details).map(([name, value]) => (
      <li key={name}>
        {fieldLabel(name)}: <FieldValue value={value} />
      </li>
    )),
  ];
  const list = <ul className="changes">{lines}</ul>;
  if (!isFolded && JSON.stringify(details).length <= FOLDED_CHARACTERS) return list;
  return (
    <details>
      <summary>{lines.length === 1 ? "1 entry" : `${lines.length} entries`}</summary>
      {list}
    </details>
  );
}

/** The values before and after, by the names of their fields; one without a name if the event changes one value. */
function changesOf(from: unknown, to: unknown): [name: string, before: unknown, after: unknown][] {
  if (from === undefined || to === undefined) return [];
  if (!isFields(from) || !isFields(to)) return [["", from, to]];
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...names].map((name) => [name, from[name], to[name]]);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
