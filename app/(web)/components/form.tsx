"use client";

import { createContext, type FormEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Locale } from "@/lib/platform/locale";
import { translateError } from "../language/german-errors";
import { useSite } from "../language/site-context";
import { type FormErrors, sendForm } from "./send-form";

/** The errors of the last submission, and the values to fill in again. */
export type FormState = FormErrors & { values: Record<string, string>; unshown?: string[] | undefined };

const EMPTY_STATE: FormState = { message: "", fields: {}, values: {} };

export const FormContext = createContext<FormState>(EMPTY_STATE);

type Props = { action: string; flash?: FormState | null; className?: string; children: ReactNode };

/**
 * A form that works without JavaScript: the browser posts it, and after an error the page shows it again with
 * `flash`. With JavaScript it is sent by `fetch`, and the inputs keep their values.
 */
export function Form({ action, flash, className, children }: Props) {
  const [state, setState] = useState(flash ?? EMPTY_STATE);
  const [isBusy, setBusy] = useState(false);
  const { locale, accountId } = useSite();
  const form = useRef<HTMLFormElement>(null);
  /** The fields whose errors have no place in the form. */
  const [unshown, setUnshown] = useState(flash?.unshown ?? []);
  useLayoutEffect(() => {
    if (state === EMPTY_STATE) return;
    const isShown = (name: string) => form.current?.querySelector(`[data-error="${CSS.escape(name)}"]`);
    setUnshown(Object.keys(state.fields).filter((name) => !isShown(name)));
  }, [state]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `unshown` adds the alert.
  useEffect(() => {
    if (state === EMPTY_STATE) return;
    form.current?.querySelector<HTMLElement>("[aria-invalid=true], [role=alert]")?.focus();
  }, [state, unshown]);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    const { submitter } = event.nativeEvent as SubmitEvent; // its name and value are sent, too
    const result = await sendForm(action, new FormData(event.currentTarget, submitter));
    if ("location" in result) window.location.assign(result.location);
    else setState({ ...translated(result, locale), values: {} });
    // A page stays open when an app is opened or a file is downloaded.
    setBusy("location" in result && /^\/(?!api\/)/.test(result.location));
  };

  const hasFieldErrors = Object.keys(state.fields).length > 0;
  const others = unshown.map((name) => state.fields[name] ?? "").filter((text) => !state.message.includes(text));
  return (
    <FormContext value={state}>
      <form ref={form} action={action} method="post" className={className} onSubmit={submit} aria-busy={isBusy}>
        {state.message && (!hasFieldErrors || unshown.length > 0) && (
          <p className="notice error" role="alert" tabIndex={-1}>
            {[state.message, others.join(". ")].join(" ").trim()}
          </p>
        )}
        {accountId !== null && <input type="hidden" name="signedInAs" value={accountId} />}
        {children}
      </form>
    </FormContext>
  );
}

function translated({ message, fields }: FormErrors, locale: Locale): FormErrors {
  const entries = Object.entries(fields).map(([name, text]) => [name, translateError(text, locale)]);
  return { message: translateError(message, locale), fields: Object.fromEntries(entries) };
}
