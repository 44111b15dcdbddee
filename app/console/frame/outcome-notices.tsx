import type { Flash } from "@/lib/platform/http/pages/flash";
import { Notice } from "../../(web)/components/notice";
import { ResumeForm } from "../../(web)/confirm/resume-form";

/** The outcome of the form that led to the page. */
export function OutcomeNotices({ message, flash }: { message: string | undefined; flash: Flash | null }) {
  const details = flash ? Object.values(flash.fields).join(". ") : "";
  return (
    <>
      {message && <Notice>{message}</Notice>}
      {flash?.resume && <ResumeForm flash={flash} summary={flash.summary} />}
      {flash && !flash.resume && (
        <Notice kind="error">
          {flash.message} {details}
        </Notice>
      )}
    </>
  );
}
