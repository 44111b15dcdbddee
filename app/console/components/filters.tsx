import type { ReactNode } from "react";
import { z } from "zod";
import { isStorableTime, NOT_STORABLE } from "@/lib/platform/storable";
import { Field } from "../../(web)/components/field";
import { requireOperator } from "../frame/operator";
import { QuietButton } from "./action";
import { SelectField } from "./fields";

/** A bar of filters: a form that is sent as the query of its own page. `Clear` shows the list without filters. */
export async function Filters({ children }: { children: ReactNode }) {
  const { pageUrl } = await requireOperator();
  const { pathname, searchParams } = new URL(pageUrl, "http://console");
  const isFiltered = [...searchParams.keys()].some(
    (name) => !["cursor", "before", "done", "formErrors"].includes(name),
  );
  return (
    <form className="filters" action={pathname} method="get">
      {children}
      <QuietButton>Filter</QuietButton>
      {isFiltered && <a href={pathname}>Clear</a>}
    </form>
  );
}

type SelectProps = {
  name: string;
  label: string;
  value: string | undefined;
  /** What the choices are called, by their values. */
  options: Readonly<Record<string, string>>;
  /** What no choice means. null: there is always one. */
  any?: string | null;
};

/** A filter with a few choices. */
export function SelectFilter({ name, label, value = "", options, any = "All" }: SelectProps) {
  return (
    <SelectField
      group="filter"
      name={name}
      label={label}
      options={any === null ? options : { "": any, ...options }}
      defaultValue={value}
    />
  );
}

type InputProps<Value> = { name: string; label: string; value: Value | undefined; hint?: string };

/** A filter that is typed. `hint` is its placeholder. */
export function InputFilter({ name, label, value, hint }: InputProps<string>) {
  return (
    <Field
      group="filter search"
      name={name}
      label={label}
      type="search"
      defaultValue={value}
      placeholder={hint}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

/** A filter by time in UTC, to the second. */
export function TimeFilter({ name, label, value }: InputProps<Date>) {
  const text = value?.toISOString().slice(0, "2026-11-22T09:00:00".length);
  return (
    <Field
      group="filter time"
      name={name}
      label={`${label} (UTC)`}
      type="datetime-local"
      step="1"
      defaultValue={text}
      autoComplete="off"
    />
  );
}

/** A time as `TimeFilter` sends it, or as the API has it. Without an offset it is in UTC, and a date is its midnight. */
export const FilterTime = z
  .union(
    [
      z.iso.datetime({ offset: true }),
      z.iso.date(),
      z.iso.datetime({ local: true }).transform((withoutOffset) => `${withoutOffset}Z`),
    ],
    "Must be a date or a time such as 2026-11-22T09:00:00Z",
  )
  .transform((text) => new Date(text))
  .refine(isStorableTime, NOT_STORABLE);
