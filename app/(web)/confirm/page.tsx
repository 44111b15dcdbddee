import { redirect } from "next/navigation";
import { readStepUpMethods, type StepUpMethods } from "@/lib/auth/step-up";
import { pageContext } from "@/lib/auth/visitor";
import { confirmPath, ownPath } from "@/lib/platform/http/pages/redirect-paths";
import { AccountStep, Reauthentication } from "../account/account-step";
import { requireVisitor } from "../account/require-visitor";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { type PageProps, readPage } from "../components/page-props";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import { PasskeyProof } from "../passkeys/passkey-proof";

const CONFIRM = defineTexts({
  en: {
    title: "Confirm that it’s you",
    required: "Adding a sign-in provider requires a recent sign-in. Nothing was changed.",
    intro: "You signed in a while ago. What you are about to do requires a recent sign-in.",
  },
  de: {
    title: "Bestätigen Sie, dass Sie es sind",
    required: "Um einen Anbieter hinzuzufügen, müssen Sie sich kürzlich angemeldet haben. Es hat sich nichts geändert.",
    intro: "Ihre Anmeldung liegt eine Weile zurück. Was Sie vorhaben, verlangt eine neue.",
  },
});

export const generateMetadata = titleOf(CONFIRM);

export default async function Page(props: PageProps) {
  const { query, flash, texts, common } = await readPage(props, CONFIRM);
  const { callbackUrl, error } = query;
  const ctx = pageContext();
  const next = ownPath(callbackUrl, ctx.config.baseUrl, "/account");
  const visitor = await requireVisitor(confirmPath(next));
  const methods = await readStepUpMethods(ctx, visitor);
  // With AUTH_SESSION_CONTEXT, a form that was sent from elsewhere leads here although the authentication is recent.
  if (methods.isFresh && !ctx.config.AUTH_SESSION_CONTEXT) redirect(next);
  return (
    <AccountStep title={texts.title}>
      {error === "reauthentication_required" && <Notice kind="error">{texts.required}</Notice>}
      <p>{texts.intro}</p>
      <Form action="/forms/confirm" flash={flash}>
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

type Props = { methods: StepUpMethods; email: string; returnTo: string };

/** What a signed-in user types to authenticate again. A passkey has a button of its own. */
async function ProofFields({ methods: { aal, passwordHash, factorFields }, email, returnTo }: Props) {
  const common = await textsOf(COMMON);
  const isTyped = aal === 2 || passwordHash !== null;
  if (aal === 1 && (isTyped || !factorFields.includes("passkey"))) {
    return (
      <>
        <Reauthentication email={email} hasPassword={passwordHash !== null} returnTo={returnTo} />
        {isTyped && <button type="submit">{common.continueButton}</button>}
      </>
    );
  }
  if (aal === 1) return null;
  return (
    <>
      <Field name="code" label={common.code} hint={common.codeHint} autoComplete="one-time-code" inputMode="numeric" />
      {factorFields.includes("recoveryCode") && (
        <details>
          <summary>{common.useRecoveryCode}</summary>
          <Field
            name="recoveryCode"
            label={common.recoveryCode}
            hint={common.recoveryCodeHint}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
          />
        </details>
      )}
      <button type="submit">{common.continueButton}</button>
    </>
  );
}
