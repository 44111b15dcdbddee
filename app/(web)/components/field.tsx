"use client";

import { type ComponentProps, use, useId, useState } from "react";
import { useTexts } from "../language/site-context";
import { defineTexts } from "../language/texts";
import { FormContext } from "./form";

type Props = {
  name: string;
  label: string;
  hint?: string;
  /** The class of the label with its input. */
  group?: string;
} & Omit<ComponentProps<"input">, "id" | "name">;

type PasswordProps = Pick<Props, "label" | "hint"> & { name?: string; isNew?: boolean };

/** A labelled input with its hint, and the error that the form has for it. The characters of a password can be shown. */
export function Field({ name, label, hint, group = "field", ...input }: Props) {
  const { fields, values } = use(FormContext);
  const [isShown, setShown] = useState(false);
  const id = useId();
  const error = fields[name];
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const isPassword = input.type === "password";
  const control = (
    <input
      {...input}
      type={isShown ? "text" : input.type}
      id={id}
      name={name}
      defaultValue={values[name] ?? input.defaultValue}
      aria-invalid={error ? true : undefined}
      aria-describedby={describedBy || undefined}
    />
  );
  return (
    <div className={group}>
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {isPassword ? (
        <div className="with-switch">
          {control}
          <ShowSwitch isShown={isShown} toggle={() => setShown(!isShown)} />
        </div>
      ) : (
        control
      )}
      {error && (
        <p className="field-error" id={`${id}-error`} data-error={name}>
          {error}
        </p>
      )}
    </div>
  );
}

/** A field for the password of the account, or for a new one with the hint that it gets. */
export function PasswordField({ name = "password", label, hint, isNew = false }: PasswordProps) {
  const autoComplete = isNew ? "new-password" : "current-password";
  return <Field name={name} label={label} hint={hint} type="password" required autoComplete={autoComplete} />;
}

const TEXTS = defineTexts({ en: { show: "Show characters" }, de: { show: "Zeichen anzeigen" } });

/** Needs JavaScript: without it, a style hides the switch. */
function ShowSwitch({ isShown, toggle }: { isShown: boolean; toggle: () => void }) {
  const { show } = useTexts(TEXTS);
  return (
    <button type="button" role="switch" aria-checked={isShown} aria-label={show} title={show} onClick={toggle}>
      <svg
        viewBox="0 0 24 24"
        width="22"
        height="22"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        aria-hidden="true"
      >
        <path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12Z" />
        <circle cx="12" cy="12" r="3" />
        {isShown && <path d="M4 20 20 4" />}
      </svg>
    </button>
  );
}
