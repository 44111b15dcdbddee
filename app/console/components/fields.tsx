"use client";

import { type ReactNode, use, useId } from "react";
import { FormContext } from "../../(web)/components/form";

type Props = {
  name: string;
  label: string;
  /** What the choices are called, by their values. */
  options: Readonly<Record<string, string>>;
  defaultValue?: string | undefined;
  /** The class of the label with the choices. */
  group?: string;
};

/** A labelled choice. */
export function SelectField({ name, label, options, defaultValue, group = "field" }: Props) {
  const { values } = use(FormContext);
  const id = useId();
  return (
    <div className={group}>
      <label htmlFor={id}>{label}</label>
      <select id={id} name={name} defaultValue={values[name] ?? defaultValue}>
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** The error that the form has for a group of fields. */
export function FieldError({ name }: { name: string }) {
  const error = use(FormContext).fields[name];
  if (!error) return null;
  return (
    <p className="field-error" role="alert" tabIndex={-1} data-error={name}>
      {error}
    </p>
  );
}

type Values = Record<string, string>;

/** The values that fields below start with, and their errors. For forms that are sent as the query of a page. */
export function FormValues({ fields, values, children }: { fields: Values; values: Values; children: ReactNode }) {
  return <FormContext value={{ message: "", fields, values }}>{children}</FormContext>;
}
