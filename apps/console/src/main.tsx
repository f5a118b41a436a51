import './styles/index.css';
import { render } from 'preact';
import { App } from './app/app.js';
import { applyTheme } from './app/theme.js';
import { SignIns } from './sign-in/sign-ins.js';

applyTheme();
const signIns = new SignIns();
void signIns.restore();
const root = document.querySelector('#console');
if (root !== null) render(<App signIns={signIns} />, root);
