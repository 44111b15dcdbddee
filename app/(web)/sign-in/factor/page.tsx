import { headers } from "next/headers";
import { redirect } from "next/navigation";
import { listChallengeFactors, readChallengeCookie, secondFactorPage } from "@/lib/auth/second-factor/challenges";
import { pageContext } from "@/lib/auth/visitor";
import { trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { titleOf } from "../../language/page-language";
import { PasskeyProof } from "../../passkeys/passkey-proof";
import { FACTOR } from "../texts";

export const generateMetadata = titleOf(FACTOR);

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { config } = ctx;
  const { query, flash, texts, common } = await readPage(props, FACTOR);
  const { callbackUrl, kind } = query;
  const next = trustedUrl(callbackUrl ?? flash?.values.callbackUrl, config, "/account");
  const signInPage = `/sign-in?${new URLSearchParams({ callbackUrl: next })}`;
  const challenge = readChallengeCookie(config, await headers());
  if (!challenge) redirect(signInPage);
  const hasPasskey = (await listChallengeFactors(ctx, challenge)).includes("passkey");
  const isByRecoveryCode = kind === "recovery_code";
  return (
    <div className="narrow">
      <h1>{isByRecoveryCode ? texts.byRecoveryCode : texts.byCode}</h1>
      <Form action="/forms/sign-in/factor" flash={flash}>
        <input type="hidden" name="callbackUrl" value={next} />
        <input type="hidden" name="kind" value={isByRecoveryCode ? "recovery_code" : "totp"} />
        {isByRecoveryCode ? (
          <Field
            name="code"
            label={common.recoveryCode}
            hint={common.recoveryCodeHint}
            required
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
          />
        ) : (
          <Field
            name="code"
            label={common.code}
            hint={common.codeHint}
            required
            autoComplete="one-time-code"
            inputMode="numeric"
          />
        )}
        <button type="submit">{common.signIn}</button>
      </Form>
      {hasPasskey && (
        <Form action="/forms/sign-in/factor">
          <input type="hidden" name="callbackUrl" value={next} />
          <input type="hidden" name="kind" value="passkey" />
          <PasskeyProof optionsPath="/api/auth/passkeys/second-factor/options" label={common.usePasskey} />
        </Form>
      )}
      <p className="aside">
        {isByRecoveryCode ? (
          <a href={secondFactorPage({ callbackUrl: next })}>{texts.useApp}</a>
        ) : (
          <a href={`${secondFactorPage({ callbackUrl: next })}&kind=recovery_code`}>{common.useRecoveryCode}</a>
        )}
      </p>
      <p className="aside">
        <a href={signInPage}>{texts.again}</a>
      </p>
    </div>
  );
}
