import './servers/progress.mjs'
