import { published, signed } from "./google";
import type { OutgoingResponse } from "./network";

/** The issuer of the ID tokens of CI jobs: its metadata (OpenID Connect Discovery 1.0), and its keys (RFC 7517). */
export class CiIssuer {
  readonly issuer = "https://token.actions.githubusercontent.com";

  respond({ pathname }: URL): OutgoingResponse {
    const { issuer } = this;
    const answer = pathname.endsWith("/jwks") ? published() : { issuer, jwks_uri: `${issuer}/.well-known/jwks` };
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
  }

  /** The ID token of a job that a pushed tag has started (GitHub, "OpenID Connect reference"). */
  token(nowMs: number, claims: Record<string, unknown>): string {
    const iat = Math.floor(nowMs / 1000);
    const ref = "refs/tags/v1.2.0";
    const workflow = `${claims.repository}/.github/workflows/release.yml@${ref}`;
    const job = { event_name: "push", ref, sha: "1a".repeat(20), job_workflow_ref: workflow, workflow_ref: workflow };
    return signed({ iss: this.issuer, iat, exp: iat + 300, ...job, ...claims });
  }
}
