"use client";

import { type ComponentProps, use, useId } from "react";
import { FormTrouble } from "./form";

type Props = { name: string; label: string; hint?: string } & Omit<ComponentProps<"input">, "id" | "name">;

/** An input with its label, and below it what the form's refusal says of it. */
export function Field({ name, label, hint, ...input }: Props) {
  const { fields, values } = use(FormTrouble);
  const id = useId();
  const error = fields[name];
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
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
        defaultValue={values[name]}
        aria-invalid={error ? true : undefined}
        aria-describedby={told || undefined}
      />
      {error && (
        <p className="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}
