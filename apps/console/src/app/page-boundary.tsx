import { Component, type ComponentChildren } from 'preact';
import { Failure, Page } from '../kit/page.js';

interface PageBoundaryProps {
  /** Address of the page. When it changes, the boundary tries again to render. */
  path: string;
  children: ComponentChildren;
}

interface PageBoundaryState {
  failure: { error: unknown } | undefined;
}

/** Shows the error of a page that cannot be rendered. Without it, parts of the old page would stay and not react. */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override state: PageBoundaryState = { failure: undefined };

  static override getDerivedStateFromError(error: unknown): PageBoundaryState {
    return { failure: { error } };
  }

  override componentDidUpdate(before: PageBoundaryProps): void {
    if (before.path !== this.props.path && this.state.failure !== undefined) this.reset();
  }

  override render(): ComponentChildren {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return (
      <Page title="The page failed">
        <Failure
          error={failure.error}
          retry={() => {
            this.reset();
          }}
        />
      </Page>
    );
  }

  private reset(): void {
    this.setState({ failure: undefined });
  }
}
