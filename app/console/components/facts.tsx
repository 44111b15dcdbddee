import type { ReactNode } from "react";
import { Dash } from "./cells";

/** A definition list. An entry without a value shows a dash. */
export function Facts({ entries }: { entries: readonly (readonly [term: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {entries.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value === null || value === undefined || value === "" ? <Dash /> : value}</dd>
        </div>
      ))}
    </dl>
  );
}
