import { headers } from "next/headers";
import { redirect } from "next/navigation";
import { readChallengeCookie, secondFactorPage } from "@/lib/auth/second-factor/challenge-cookie";
import { listChallengeFactors } from "@/lib/auth/second-factor/challenges";
import { trustedUrl } from "@/lib/http/pages/own-path";
import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { PasskeyProof } from "../../passkeys/passkey-proof";

export const metadata = { title: "Second factor", robots: { index: false } };

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { config } = ctx;
  const { formErrors, callbackUrl, kind } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const next = trustedUrl(callbackUrl ?? flash?.values.callbackUrl, config, "/account");
  const signInPage = `/sign-in?${new URLSearchParams({ callbackUrl: next })}`;
  const challenge = readChallengeCookie(config, await headers());
  if (!challenge) redirect(signInPage);
  const hasPasskey = (await listChallengeFactors(ctx, challenge)).includes("passkey");
  const isByRecoveryCode = kind === "recovery_code";
  return (
    <div className="narrow">
      <h1>{isByRecoveryCode ? "Enter a recovery code" : "Enter the code"}</h1>
      <Form action="/forms/sign-in/factor" flash={flash}>
        <input type="hidden" name="callbackUrl" value={next} />
        <input type="hidden" name="kind" value={isByRecoveryCode ? "recovery_code" : "totp"} />
        {isByRecoveryCode ? (
          <Field
            name="code"
            label="Recovery code"
            hint="One of the ten that you kept. Each works once."
            required
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
          />
        ) : (
          <Field
            name="code"
            label="Code"
            hint="The six digits that your authenticator app shows."
            required
            autoComplete="one-time-code"
            inputMode="numeric"
          />
        )}
        <button type="submit">Sign in</button>
      </Form>
      {hasPasskey && (
        <Form action="/forms/sign-in/factor">
          <input type="hidden" name="callbackUrl" value={next} />
          <input type="hidden" name="kind" value="passkey" />
          <PasskeyProof optionsPath="/api/auth/passkeys/second-factor/options" label="Use a passkey" />
        </Form>
      )}
      <p className="aside">
        {isByRecoveryCode ? (
          <a href={secondFactorPage({ callbackUrl: next })}>Use the authenticator app</a>
        ) : (
          <a href={`${secondFactorPage({ callbackUrl: next })}&kind=recovery_code`}>Use a recovery code</a>
        )}
      </p>
      <p className="aside">
        <a href={signInPage}>Sign in again</a>
      </p>
    </div>
  );
}
