import { redirect } from "next/navigation";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { confirmPath, ownPath } from "@/lib/http/pages/own-path";
import { pageContext } from "@/lib/http/pages/visitor";
import { AccountHeading } from "../account/account-heading";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { PasskeyProof } from "../passkeys/passkey-proof";
import { ProofFields } from "./proof-fields";

export const metadata = { title: "Confirm that it’s you", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { callbackUrl, error, formErrors } = await queryOf(props);
  const ctx = pageContext();
  const next = ownPath(callbackUrl, ctx.config.baseUrl, "/account");
  const visitor = await requireVisitor(confirmPath(next));
  const methods = await readStepUpMethods(ctx, visitor);
  if (methods.isFresh) redirect(next);
  return (
    <div className="narrow">
      <AccountHeading title="Confirm that it’s you" />
      {error === "reauthentication_required" && (
        <Notice kind="error">Adding a sign-in provider requires a recent sign-in. Nothing was changed.</Notice>
      )}
      <p>You signed in a while ago. What you are about to do requires a recent sign-in.</p>
      <Form action="/forms/confirm" flash={await flashOf(formErrors)}>
        <input type="hidden" name="callbackUrl" value={next} />
        <ProofFields methods={methods} email={visitor.user.email} returnTo={next} />
      </Form>
      {methods.factorFields.includes("passkey") && (
        <Form action="/forms/confirm">
          <input type="hidden" name="callbackUrl" value={next} />
          <PasskeyProof optionsPath="/api/auth/passkeys/step-up/options" label="Use a passkey" />
        </Form>
      )}
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
