import type { StepUpMethods } from "@/lib/auth/step-up";
import { Reauthentication } from "../account/reauthentication";
import { Field } from "../components/field";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";

type Props = { methods: StepUpMethods; email: string; returnTo: string };

/** What a signed-in user types to authenticate again. A passkey has a button of its own. */
export async function ProofFields({ methods: { aal, passwordHash, factorFields }, email, returnTo }: Props) {
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
