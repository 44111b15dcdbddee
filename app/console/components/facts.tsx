import type { ReactNode } from "react";
import { Dash } from "./cells";
import { ExactTime } from "./time";

/** An entry of a list of facts; none where it is null or false. */
export type Fact = readonly [term: string, value: ReactNode] | null | false;

/** A definition list. An entry without a value shows a dash. */
export function Facts({ entries }: { entries: readonly Fact[] }) {
  return (
    <dl className="facts">
      {entries
        .filter((entry) => entry !== null && entry !== false)
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value === null || value === undefined || value === "" ? <Dash /> : value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A field's name in words: "currentPeriodEndsAt" becomes "Current period ends at", and "productId" "Product ID". */
export function fieldLabel(field: string): string {
  if (field === "amr") return "Authenticated by";
  const words = field.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/\bid(?=s?$)/, "ID");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The value of a field, such as of an event: text, a list, or fields of its own. A dash for none. */
export function FieldValue({ value }: { value: unknown }) {
  if (value instanceof Date) return <ExactTime at={value} />;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return <Dash />;
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return <bdi>{value.join(", ")}</bdi>;
  if (typeof value !== "object") return <bdi>{String(value)}</bdi>;
  return Object.entries(value).map(([name, one]) => (
    <div key={name}>
      {fieldLabel(name)}: <FieldValue value={one} />
    </div>
  ));
}
