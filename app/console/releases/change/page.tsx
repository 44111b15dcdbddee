import type { Metadata } from "next";
import { z } from "zod";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { previewChange } from "@/lib/releases/publishing/preview-change";
import { ReleaseAction, toProposedChange, versionPath } from "@/lib/releases/publishing/release-action";
import { Field } from "../../../(web)/components/field";
import { Notice } from "../../../(web)/components/notice";
import { ButtonLink } from "../../components/action";
import { PageHead, Section } from "../../components/headings";
import { OperationForm } from "../../components/operation-form";
import { consolePage } from "../../frame/console-page";
import { Preview } from "./preview";
import { ACTION_TEXTS } from "./texts";

type PageProps = { searchParams: Promise<Record<string, string>> };

export async function generateMetadata({ searchParams }: PageProps): Promise<Metadata> {
  const action = ReleaseAction.safeParse(await searchParams).data;
  return { title: { absolute: `${action ? ACTION_TEXTS[action.action].title(action) : "Change"} – Releases` } };
}

const Query = ReleaseAction.extend({ done: z.string().optional() });

const STALE =
  "Nothing was changed: the release, its rollout or another release of the product has changed since the preview. This is the new preview.";

export default consolePage({ role: "admin", query: Query }, async ({ ctx, query: { done, ...action } }) => {
  const { title, consequence } = ACTION_TEXTS[action.action];
  const { preview, state } = await previewChange(ctx, {}, toProposedChange(action));
  return (
    <>
      <PageHead
        title={title(action)}
        parent={{ href: versionPath(action), label: `${action.product} ${action.version}` }}
        lead={consequence}
      />
      {done === "stale" && <Notice kind="error">{STALE}</Notice>}
      <Section title="Who gets what">
        {preview.notes.map((note) => (
          <Notice key={note} kind="error">
            {note}
          </Notice>
        ))}
        <Preview preview={preview} />
      </Section>
      <Confirmation action={action} previewed={state} />
    </>
  );
});

type ConfirmationProps = { action: ReleaseAction; previewed: string };

function Confirmation({ action, previewed }: ConfirmationProps) {
  const { button, isDanger, takesReason } = ACTION_TEXTS[action.action];
  return (
    <OperationForm
      operation={releaseOperations.changeVersion}
      params={{ ...action, previewed }}
      confirmTo="continue"
      className="form"
    >
      {action.action === "rollback" && <Withdrawal />}
      {takesReason && (
        <Field name="reason" label="Reason (optional)" hint="Recorded in the audit trail." maxLength={500} />
      )}
      <div className="buttons">
        <button type="submit" className={isDanger && "danger"}>
          {button}
        </button>
        <ButtonLink href={versionPath(action)}>Cancel</ButtonLink>
      </div>
    </OperationForm>
  );
}

function Withdrawal() {
  return (
    <fieldset>
      <legend>Newer versions</legend>
      <label className="check">
        <input type="radio" name="withdrawal" value="yank" defaultChecked /> are yanked: they are broken
      </label>
      <label className="check">
        <input type="radio" name="withdrawal" value="pause" /> are paused: they may be rolled out again
      </label>
    </fieldset>
  );
}
