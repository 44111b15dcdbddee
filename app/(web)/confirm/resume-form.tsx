"use client";

import { type ComponentProps, useEffect, useRef } from "react";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { COMMON } from "../language/common-texts";
import { useTexts } from "../language/site-context";

/** `summary`: what the form does, where the page does not say it. */
type Props = { flash: Flash; summary?: string | undefined };

/**
 * A form that was not sent, because its author had to sign in again or to confirm that it is them: sends it as it was. After
 * a confirmation that happens at once; without JavaScript, and after a sign-in, by the button.
 */
export function ResumeForm({ flash: { form, message, values, resume }, summary }: Props) {
  const { continueButton } = useTexts(COMMON);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (resume !== "now") return;
    const url = new URL(window.location.href);
    url.searchParams.delete("formErrors"); // so that a reload does not send it again
    window.history.replaceState(null, "", url);
    frame.current?.querySelector("form")?.requestSubmit();
  }, [resume]);
  return (
    <div className="resume" ref={frame}>
      <Notice kind="info">
        {summary && <strong>{summary}. </strong>}
        {message}
        {values.reason && ` Reason: ${values.reason}`}
      </Notice>
      <Form action={form}>
        {Object.entries(values).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        {resume === "now" && <input type="hidden" name="isResumed" value="1" />}
        <button type="submit">{continueButton}</button>
      </Form>
    </div>
  );
}

/** A form, or, if it was not sent because its author had to confirm that it is them, the one that sends it now. */
export function ResumableForm({ flash, ...props }: ComponentProps<typeof Form> & { flash: Flash | null }) {
  return flash?.resume ? <ResumeForm flash={flash} /> : <Form flash={flash} {...props} />;
}
