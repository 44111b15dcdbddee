import type { StepUpMethods } from "@/lib/auth/step-up";
import { Reauthentication } from "../account/reauthentication";
import { Field } from "../components/field";

type Props = { methods: StepUpMethods; email: string; returnTo: string };

/** What a signed-in user types to authenticate again. A passkey has a button of its own. */
export function ProofFields({ methods: { level, passwordHash, factorFields }, email, returnTo }: Props) {
  const isTyped = level === 2 || passwordHash !== null;
  if (level === 1 && (isTyped || !factorFields.includes("passkey"))) {
    return (
      <>
        <Reauthentication email={email} hasPassword={passwordHash !== null} returnTo={returnTo} />
        {isTyped && <button type="submit">Continue</button>}
      </>
    );
  }
  if (level === 1) return null;
  return (
    <>
      <Field
        name="code"
        label="Code"
        hint="The six digits that your authenticator app shows."
        autoComplete="one-time-code"
        inputMode="numeric"
      />
      {factorFields.includes("recoveryCode") && (
        <details>
          <summary>Use a recovery code</summary>
          <Field
            name="recoveryCode"
            label="Recovery code"
            hint="One of the ten that you kept. Each works once."
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
          />
        </details>
      )}
      <button type="submit">Continue</button>
    </>
  );
}
