"use client";

import { createContext, type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { type Refusal, sendForm } from "./send-form";

/** What a form said when it was refused, and what was typed. */
export type Trouble = Refusal & { values: Record<string, string> };

const NONE: Trouble = { message: "", fields: {}, values: {} };

export const FormTrouble = createContext<Trouble>(NONE);

type Props = { action: string; trouble?: Trouble | null; className?: string; children: ReactNode };

/**
 * A form that works without JavaScript: it is posted, and shown again with `trouble` where it was refused. With
 * JavaScript it is sent from here, so that what was typed stays where it is.
 */
export function Form({ action, trouble, className, children }: Props) {
  const [shown, setShown] = useState(trouble ?? NONE);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (shown === NONE) return;
    form.current?.querySelector<HTMLElement>("[aria-invalid=true], [role=alert]")?.focus();
  }, [shown]);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    const answer = await sendForm(action, new FormData(event.currentTarget));
    if ("location" in answer) return window.location.assign(answer.location);
    setShown({ ...answer, values: {} });
    setBusy(false);
  };

  const isAtFields = Object.keys(shown.fields).length > 0;
  return (
    <FormTrouble value={shown}>
      <form ref={form} action={action} method="post" className={className} onSubmit={submit} aria-busy={isBusy}>
        {shown.message && !isAtFields && (
          <p className="notice wrong" role="alert" tabIndex={-1}>
            {shown.message}
          </p>
        )}
        {children}
      </form>
    </FormTrouble>
  );
}
