"use client";

import { use, useId } from "react";
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
