import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for operators" };

export default function Page() {
  return <GroupPage slug="operators" />;
}
