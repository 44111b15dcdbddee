"use client";

import { type ComponentProps, use, useId } from "react";
import { FormContext } from "./form";

type Props = { name: string; label: string; hint?: string } & Omit<ComponentProps<"input">, "id" | "name">;

/** A labelled input with its hint, and the error that the form has for it. */
export function Field({ name, label, hint, ...input }: Props) {
  const { fields, values } = use(FormContext);
  const id = useId();
  const error = fields[name];
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <input
        {...input}
        id={id}
        name={name}
        defaultValue={values[name] ?? input.defaultValue}
        aria-invalid={error ? true : undefined}
        aria-describedby={describedBy || undefined}
      />
      {error && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}
