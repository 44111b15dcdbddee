import type { ComponentProps } from "react";
import { publisherOperations } from "@/lib/auth/publishers/operations";
import type { Publisher } from "@/lib/auth/publishers/schema";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { Field } from "../../../(web)/components/field";
import { FieldError } from "../../components/fields";
import { OperationForm } from "../../components/operation-form";

type Type = Publisher["type"];

export const TYPES: Record<Type, string> = { github: "GitHub Actions", gitlab: "GitLab CI", oidc: "Another service" };

/** The form that adds a publisher. Without a recent sign-in, the page that asks for one comes first. */
export function NewPublisherFields({ type, flash }: { type: Type; flash: Flash | null }) {
  return (
    <OperationForm
      operation={publisherOperations.addPublisher}
      params={{ type }}
      confirmTo="add a publisher"
      flash={flash}
      className="form"
    >
      {type === "oidc" ? <Claims value={flash?.values.claims} /> : <Workflow type={type} />}
      <TextField
        name="ref"
        label="Ref (optional)"
        hint="The tags or branches that publish, such as refs/tags/v*. Empty: all."
        maxLength={256}
      />
      <TextField name="product" label="Product" hint="The only product whose releases it publishes." required />
      <TextField name="channel" label="Channel (optional)" hint="The only channel, such as stable. Empty: all." />
      {type !== "oidc" && (
        <>
          <TextField
            name="environment"
            label="Environment (optional)"
            hint="The job’s environment, whose reviewers decide about each release."
            maxLength={256}
          />
          <TextField name="issuer" label="Issuer (optional)" hint={HINTS[type].issuer} type="url" maxLength={512} />
        </>
      )}
      <button type="submit">Add publisher</button>
    </OperationForm>
  );
}

const HINTS = {
  github: {
    repository: "Such as acme/app.",
    workflow: "The file in .github/workflows that publishes, such as release.yml.",
    issuer: "Of GitHub Enterprise Server, such as https://github.example.com/_services/token. Empty: of github.com.",
  },
  gitlab: {
    repository: "With all its groups, such as acme/apps/app.",
    workflow: "The file that configures the pipeline. Empty: .gitlab-ci.yml.",
    issuer: "Of your own GitLab, such as https://gitlab.example.com. Empty: https://gitlab.com.",
  },
};

function Workflow({ type }: { type: "github" | "gitlab" }) {
  const hints = HINTS[type];
  const isGitHub = type === "github";
  return (
    <>
      <TextField
        name="repository"
        label={isGitHub ? "Repository" : "Project"}
        hint={hints.repository}
        required
        maxLength={256}
      />
      <TextField
        name="workflow"
        label={isGitHub ? "Workflow" : "Workflow (optional)"}
        hint={hints.workflow}
        required={isGitHub}
        maxLength={256}
      />
    </>
  );
}

function Claims({ value }: { value: string | undefined }) {
  return (
    <>
      <TextField
        name="issuer"
        label="Issuer"
        hint="The iss of its ID tokens, such as https://agent.buildkite.com."
        type="url"
        required
        maxLength={512}
      />
      <div className="field">
        <label htmlFor="claims">Claims</label>
        <p className="hint" id="claims-hint">
          What its ID tokens must say, such as organization_slug=acme, each on a line of its own.
        </p>
        <FieldError name="claims" />
        <textarea
          id="claims"
          name="claims"
          rows={3}
          required
          maxLength={2_000}
          spellCheck={false}
          aria-describedby="claims-hint"
          defaultValue={value}
        />
      </div>
    </>
  );
}

const TextField = (props: ComponentProps<typeof Field>) => <Field autoComplete="off" spellCheck={false} {...props} />;
