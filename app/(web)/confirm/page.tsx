import { redirect } from "next/navigation";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { pageContext } from "@/lib/auth/visitor";
import { confirmPath, ownPath } from "@/lib/platform/http/pages/redirect-paths";
import { AccountStep } from "../account/account-step";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { PasskeyProof } from "../passkeys/passkey-proof";
import { ProofFields } from "./proof-fields";
import { CONFIRM } from "./texts";

export const generateMetadata = titleOf(CONFIRM);

export default async function Page(props: PageProps) {
  const { callbackUrl, error, formErrors } = await queryOf(props);
  const ctx = pageContext();
  const [texts, common] = [await textsOf(CONFIRM), await textsOf(COMMON)];
  const next = ownPath(callbackUrl, ctx.config.baseUrl, "/account");
  const visitor = await requireVisitor(confirmPath(next));
  const methods = await readStepUpMethods(ctx, visitor);
  if (methods.isFresh) redirect(next);
  return (
    <AccountStep title={texts.title}>
      {error === "reauthentication_required" && <Notice kind="error">{texts.required}</Notice>}
      <p>{texts.intro}</p>
      <Form action="/forms/confirm" flash={await flashOf(formErrors)}>
        <input type="hidden" name="callbackUrl" value={next} />
        <ProofFields methods={methods} email={visitor.user.email} returnTo={next} />
      </Form>
      {methods.factorFields.includes("passkey") && (
        <Form action="/forms/confirm">
          <input type="hidden" name="callbackUrl" value={next} />
          <PasskeyProof optionsPath="/api/auth/passkeys/step-up/options" label={common.usePasskey} />
        </Form>
      )}
    </AccountStep>
  );
}
